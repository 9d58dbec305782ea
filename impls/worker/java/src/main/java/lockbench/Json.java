package lockbench;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads and writes JSON. An object is a Map, a list is a List, and a text is a String. A whole number is a Long; seeds
 * use all its 64 bits.
 */
final class Json {
    private static final int MAX_DEPTH = 20;

    private final String text;
    private int at;
    private int depth;

    private Json(String text) {
        this.text = text;
    }

    /** Parses an object. */
    static Map<String, Object> object(String text) {
        Json json = new Json(text);
        Object value = json.value();
        json.space();
        if (json.at < text.length() || !(value instanceof Map<?, ?> map)) {
            throw new IllegalArgumentException("want one JSON object on a line");
        }
        Map<String, Object> object = new LinkedHashMap<>();
        map.forEach((name, field) -> object.put((String) name, field));
        return object;
    }

    static String text(Map<String, Object> object, String name) {
        return object.get(name) instanceof String s ? s : "";
    }

    static long number(Map<String, Object> object, String name) {
        return object.get(name) instanceof Number n ? n.longValue() : 0;
    }

    static List<String> texts(Map<String, Object> object, String name) {
        return object.get(name) instanceof List<?> list ? list.stream().map(String::valueOf).toList() : List.of();
    }

    static Map<String, String> textMap(Map<String, Object> object, String name) {
        Map<String, String> texts = new LinkedHashMap<>();
        if (object.get(name) instanceof Map<?, ?> map) {
            map.forEach((key, value) -> texts.put(String.valueOf(key), String.valueOf(value)));
        }
        return texts;
    }

    private Object value() {
        space();
        return switch (peek()) {
            case '{' -> fields();
            case '[' -> list();
            case '"' -> string();
            default -> word();
        };
    }

    private Map<String, Object> fields() {
        Map<String, Object> fields = new LinkedHashMap<>();
        open('{');
        while (!closed('}', fields.isEmpty())) {
            space();
            String name = string();
            space();
            expect(':');
            fields.put(name, value());
        }
        return fields;
    }

    private List<Object> list() {
        List<Object> list = new ArrayList<>();
        open('[');
        while (!closed(']', list.isEmpty())) {
            list.add(value());
        }
        return list;
    }

    private void open(char bracket) {
        expect(bracket);
        if (++depth > MAX_DEPTH) {
            throw invalid();
        }
    }

    /** Reads a closing bracket and returns true. Otherwise reads the comma, except before the first element, and returns false. */
    private boolean closed(char bracket, boolean first) {
        space();
        if (peek() == bracket) {
            at++;
            depth--;
            return true;
        }
        if (!first) {
            expect(',');
        }
        return false;
    }

    private String string() {
        expect('"');
        StringBuilder s = new StringBuilder();
        while (peek() != '"') {
            char c = text.charAt(at++);
            s.append(c == '\\' ? escaped() : c);
        }
        at++;
        return s.toString();
    }

    private char escaped() {
        char c = peek();
        at++;
        return switch (c) {
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> {
                if (at + 4 > text.length()) {
                    throw invalid();
                }
                at += 4;
                yield (char) Integer.parseInt(text.substring(at - 4, at), 16);
            }
            default -> c;
        };
    }

    private Object word() {
        int from = at;
        while (at < text.length() && (Character.isLetterOrDigit(text.charAt(at)) || "+-.".indexOf(text.charAt(at)) >= 0)) {
            at++;
        }
        String word = text.substring(from, at);
        return switch (word) {
            case "true" -> true;
            case "false" -> false;
            case "null" -> "";
            default -> word.matches("\\d+") ? (Object) Long.parseUnsignedLong(word)
                    : word.matches("-\\d+") ? (Object) Long.parseLong(word) : (Object) Double.parseDouble(word);
        };
    }

    private void space() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
    }

    private char peek() {
        if (at >= text.length()) {
            throw invalid();
        }
        return text.charAt(at);
    }

    private void expect(char c) {
        if (peek() != c) {
            throw invalid();
        }
        at++;
    }

    private IllegalArgumentException invalid() {
        return new IllegalArgumentException("invalid JSON at character " + at);
    }

    /** Returns the JSON text of a value. */
    static String write(Object value) {
        if (value instanceof Map<?, ?> map) {
            return "{" + String.join(",", map.entrySet().stream().map(e -> quoted((String) e.getKey()) + ":" + write(e.getValue())).toList()) + "}";
        }
        if (value instanceof Iterable<?> list) {
            List<String> items = new ArrayList<>();
            list.forEach(item -> items.add(write(item)));
            return "[" + String.join(",", items) + "]";
        }
        return value instanceof String s ? quoted(s) : String.valueOf(value);
    }

    private static String quoted(String text) {
        StringBuilder s = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                s.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                s.append(String.format("\\u%04x", (int) c));
            } else {
                s.append(c);
            }
        }
        return s.append('"').toString();
    }
}
