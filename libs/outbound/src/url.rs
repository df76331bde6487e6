//! What of a URL can be judged by looking at it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use domain::Invalid;
use reqwest::Url;

use crate::addresses::Guard;

/// Longest URL.
const LONGEST: usize = 2048;
/// Longest part of a URL that an error shows.
const SHOWN: usize = 80;

/// Reads a URL and refuses what would be refused later. Errors show scheme or host, and nothing else of it.
pub(crate) fn check(text: &str, guard: &Guard, allow_http: bool) -> Result<Url, Invalid> {
    let refuse = |given: String, allowed: &str| Err(Invalid::described("url", given, allowed));
    let schemes = if allow_http { "https:// or http://" } else { "https://" };
    if text.len() > LONGEST {
        return refuse(format!("a text of {} bytes", text.len()), "at most 2048 bytes");
    }
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(error) => {
            return refuse(
                format!("a text that is no URL ({error})"),
                &format!("a URL that begins with {schemes}"),
            );
        }
    };
    if !(url.scheme() == "https" || (allow_http && url.scheme() == "http")) {
        return refuse(format!("the scheme {}", shortened(url.scheme())), schemes);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse(
            "a URL with a user name or a password".to_owned(),
            "a URL without user name and password",
        );
    }
    let Some(host) = url.host_str() else {
        return refuse("a URL without a host".to_owned(), "a URL with a host");
    };
    let known = addresses(host);
    if !known.is_empty() && !known.iter().any(|address| guard.permits(*address)) {
        return refuse(format!("the host {}", shortened(host)), "a host with public addresses");
    }
    Ok(url)
}

/// The addresses of a host that needs no looking up: one that is an address, and the names that always stand for this
/// machine (RFC 6761). Other spellings of addresses (`2130706433`, `0x7f.1`, `127.1`) were made plain by the parser.
fn addresses(host: &str) -> Vec<IpAddr> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        return vec![address];
    }
    let name = host.trim_end_matches('.');
    if name == "localhost" || name.ends_with(".localhost") {
        return vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    }
    Vec::new()
}

fn shortened(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strict(text: &str) -> Result<Url, Invalid> {
        check(text, &Guard::new(&[]), false)
    }

    fn refused(text: &str) -> String {
        let invalid = strict(text).expect_err(text);
        assert_eq!(invalid.field, "url");
        invalid.to_string()
    }

    #[test]
    fn a_url_of_the_outside_is_taken() {
        for url in [
            "https://example.com/hook?key=1",
            "HTTPS://EXAMPLE.COM:8443",
            "https://8.8.8.8/",
            "https://[2606:4700:4700::1111]/",
            "https://b\u{fc}cher.example/",
            "https://localhost.example.com/",
        ] {
            assert!(strict(url).is_ok(), "{url}");
        }
        assert!(strict("http://example.com").is_err());
        assert!(check("http://example.com", &Guard::new(&[]), true).is_ok());
    }

    #[test]
    fn other_schemes_names_passwords_and_long_ones_are_refused_without_being_shown() {
        for (url, says) in [
            ("http://example.com/topsecret", "allowed is https://"),
            ("ftp://example.com/topsecret", "the scheme ftp"),
            ("file:///topsecret", "the scheme file"),
            ("data:topsecret", "the scheme data"),
            ("https://alex@example.com/topsecret", "user name"),
            ("https://:topsecret@example.com/", "password"),
            ("https://alex:topsecret@example.com/", "password"),
            ("//example.com/topsecret", "no URL"),
            ("topsecret", "no URL"),
            ("", "no URL"),
            ("https://", "no URL"),
            ("https://exa mple.com/topsecret", "no URL"),
            ("https://[fe80::1%25eth0]/topsecret", "no URL"),
            ("https://1.2.3.4.5/topsecret", "no URL"),
            (&format!("https://example.com/topsecret{}", "x".repeat(2048)), "at most 2048"),
        ] {
            let message = refused(url);
            assert!(message.contains(says) && !message.contains("topsecret"), "{url}: {message}");
        }
    }

    #[test]
    fn addresses_of_the_inside_are_refused_however_they_are_written() {
        for host in [
            "127.0.0.1",
            "127.0.0.1.",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0x7f.0.0.1",
            "0177.0.0.1",
            "017700000001",
            "%31%32%37.0.0.1",
            "\u{ff11}\u{ff12}\u{ff17}.0.0.1",
            "0",
            "169.254.169.254",
            "0xa9fea9fe",
            "10.0.0.1",
            "[::1]",
            "[::]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "[fe80::1]",
            "[fd00::1]",
            "localhost",
            "LOCALHOST.",
            "api.localhost",
        ] {
            let message = refused(&format!("https://{host}/topsecret"));
            assert!(message.contains("public") && !message.contains("topsecret"), "{host}: {message}");
        }
    }

    #[test]
    fn what_is_allowed_inside_is_taken() {
        let guard = Guard::new(&["127.0.0.0/8".parse().unwrap(), "10.1.0.0/16".parse().unwrap()]);
        for url in
            ["https://127.0.0.1:1/", "https://localhost/", "https://10.1.2.3/", "https://[::ffff:10.1.2.3]/"]
        {
            assert!(check(url, &guard, false).is_ok(), "{url}");
        }
        assert!(check("https://10.2.0.1/", &guard, false).is_err());
    }
}
