package lockbench;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** The guarded resource, which is reached by HTTP without a proxy. */
final class Resource {
    private static final Duration TIMEOUT = Duration.ofSeconds(9);

    private final String url;
    private final HttpClient client =
            HttpClient.newBuilder().proxy(HttpClient.Builder.NO_PROXY).version(HttpClient.Version.HTTP_1_1).connectTimeout(TIMEOUT).build();

    /** A definite refusal: the resource has seen a higher fencing token and did nothing. */
    static final class Stale extends Exception {}

    Resource(String url) {
        this.url = url;
    }

    long read(String key, long fence) throws Exception {
        return Long.parseLong(send("GET", key, fence, "").strip());
    }

    void write(String key, long fence, long value) throws Exception {
        send("PUT", key, fence, Long.toString(value));
    }

    void append(String key, long fence) throws Exception {
        send("POST", key, fence, "");
    }

    private String send(String method, String key, long fence, String body) throws Exception {
        String escaped = URLEncoder.encode(key, StandardCharsets.UTF_8).replace("+", "%20");
        var request = HttpRequest.newBuilder(URI.create(url + escaped + "?fence=" + fence)).timeout(TIMEOUT)
                .method(method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body)).build();
        var response = client.send(request, BodyHandlers.ofString());
        return switch (response.statusCode()) {
            case 200 -> response.body();
            case 409 -> throw new Stale();
            default -> throw new IOException("the resource answered " + response.statusCode() + ": " + response.body().strip());
        };
    }
}
