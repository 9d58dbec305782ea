//! Reads and writes JSON.

use std::fmt;

const MAX_DEPTH: usize = 20;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i128), // wide enough for seeds, which are unsigned 64-bit numbers
    Float(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Parses a text that consists of one JSON value.
    pub fn parse(text: &str) -> Result<Json, String> {
        let mut p = Parser { text, at: 0, depth: 0 };
        let value = p.value()?;
        p.space();
        if p.at < text.len() {
            return p.invalid();
        }
        Ok(value)
    }

    /// Returns a field of an object, or null.
    pub fn get(&self, name: &str) -> &Json {
        match self {
            Json::Object(fields) => fields.iter().find(|f| f.0 == name).map_or(&Json::Null, |f| &f.1),
            _ => &Json::Null,
        }
    }

    /// Returns the text of a field, or "".
    pub fn text(&self, name: &str) -> String {
        match self.get(name) {
            Json::Text(text) => text.clone(),
            _ => String::new(),
        }
    }

    /// Returns the number in a field, or 0.
    pub fn number(&self, name: &str) -> i64 {
        match self.get(name) {
            Json::Int(n) => *n as i64,
            _ => 0,
        }
    }

    pub fn is_true(&self, name: &str) -> bool {
        *self.get(name) == Json::Bool(true)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.to_string())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::Text(text)
    }
}

impl From<i128> for Json {
    fn from(n: i128) -> Json {
        Json::Int(n)
    }
}

impl From<bool> for Json {
    fn from(is: bool) -> Json {
        Json::Bool(is)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(is) => write!(f, "{is}"),
            Json::Int(n) => write!(f, "{n}"),
            Json::Float(n) => write!(f, "{n}"),
            Json::Text(text) => quote(f, text),
            Json::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i > 0 { "," } else { "" })?;
                }
                f.write_str("]")
            }
            Json::Object(fields) => {
                f.write_str("{")?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    f.write_str(if i > 0 { "," } else { "" })?;
                    quote(f, name)?;
                    write!(f, ":{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn quote(f: &mut fmt::Formatter, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn value(&mut self) -> Result<Json, String> {
        self.space();
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.list(),
            Some(b'"') => Ok(Json::Text(self.string()?)),
            _ => self.word(),
        }
    }

    fn object(&mut self) -> Result<Json, String> {
        let mut fields = Vec::new();
        self.open(b'{')?;
        while !self.closed(b'}', fields.is_empty())? {
            self.space();
            let name = self.string()?;
            self.space();
            self.expect(b':')?;
            fields.push((name, self.value()?));
        }
        Ok(Json::Object(fields))
    }

    fn list(&mut self) -> Result<Json, String> {
        let mut items = Vec::new();
        self.open(b'[')?;
        while !self.closed(b']', items.is_empty())? {
            items.push(self.value()?);
        }
        Ok(Json::List(items))
    }

    fn open(&mut self, bracket: u8) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.invalid();
        }
        self.expect(bracket)
    }

    /// Reads a closing bracket and returns true. Otherwise reads the comma, except before the first element, and returns
    /// false.
    fn closed(&mut self, bracket: u8, first: bool) -> Result<bool, String> {
        self.space();
        if self.peek() == Some(bracket) {
            self.at += 1;
            self.depth -= 1;
            return Ok(true);
        }
        if !first {
            self.expect(b',')?;
        }
        Ok(false)
    }

    fn string(&mut self) -> Result<String, String> {
        self.expect(b'"')?;
        let mut units: Vec<u16> = Vec::new(); // code units of UTF-16, because each \u escape is one code unit
        loop {
            let Some(c) = self.text[self.at..].chars().next() else { return self.invalid() };
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(String::from_utf16_lossy(&units)),
                '\\' => units.push(self.escaped()?),
                c => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
            }
        }
    }

    fn escaped(&mut self) -> Result<u16, String> {
        let Some(c) = self.peek() else { return self.invalid() };
        self.at += 1;
        Ok(match c {
            b'b' => 8,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'u' => {
                let Some(unit) = self.text.get(self.at..self.at + 4).and_then(|hex| u16::from_str_radix(hex, 16).ok()) else {
                    return self.invalid();
                };
                self.at += 4;
                unit
            }
            b'"' | b'\\' | b'/' => u16::from(c),
            _ => return self.invalid(),
        })
    }

    fn word(&mut self) -> Result<Json, String> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)).unwrap_or(rest.len());
        self.at += end;
        match &rest[..end] {
            "true" => Ok(Json::Bool(true)),
            "false" => Ok(Json::Bool(false)),
            "null" => Ok(Json::Null),
            word => match (word.parse(), word.parse()) {
                (Ok(n), _) => Ok(Json::Int(n)),
                (_, Ok(n)) => Ok(Json::Float(n)),
                _ => self.invalid(),
            },
        }
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|c| c.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn expect(&mut self, c: u8) -> Result<(), String> {
        if self.peek() != Some(c) {
            return self.invalid();
        }
        self.at += 1;
        Ok(())
    }

    fn invalid<T>(&self) -> Result<T, String> {
        Err(format!("invalid JSON at byte {}", self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn round_trips() {
        for text in [r#"{"a":[1,-2,{"b":"é\u0001\"\\"}],"c":true,"d":null,"e":18446744073709551615}"#, "[]", "{}"] {
            assert_eq!(Json::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Json::parse(r#"  "\ud83d\ude00\n" "#).unwrap(), Json::Text("😀\n".into()));
    }

    #[test]
    fn rejects_garbage() {
        for text in ["", "{", "{\"a\"}", "[1 2]", "\"", "\"\\", "\"\\u12", "nil", "{} x", "[,1]", &"[".repeat(10000)] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
    }
}
