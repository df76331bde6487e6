//! What a client shows to be let in.

use axum::http::Request;
use axum::http::header::AUTHORIZATION;

/// A ticket or a token, as the request carries it. Never logged.
pub(crate) enum Credentials {
    /// `?ticket=`.
    Ticket(String),
    /// `Authorization: Bearer`.
    Bearer(String),
    /// Neither.
    Missing,
}

impl Credentials {
    pub(crate) fn of<B>(request: &Request<B>) -> Self {
        let ticket = request.uri().query().and_then(|query| {
            query.split('&').find_map(|pair| pair.strip_prefix("ticket=")).filter(|ticket| !ticket.is_empty())
        });
        if let Some(ticket) = ticket {
            // Hex digits need no decoding; what does is no ticket.
            return Self::Ticket(ticket.to_owned());
        }
        let bearer = request
            .headers()
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        bearer.map_or(Self::Missing, |(_, token)| Self::Bearer(token.trim().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(uri: &str, authorization: Option<&str>) -> String {
        let mut request = Request::builder().uri(uri);
        if let Some(value) = authorization {
            request = request.header(AUTHORIZATION, value);
        }
        match Credentials::of(&request.body(()).unwrap()) {
            Credentials::Ticket(ticket) => format!("ticket {ticket}"),
            Credentials::Bearer(token) => format!("bearer {token}"),
            Credentials::Missing => "missing".into(),
        }
    }

    #[test]
    fn a_ticket_goes_before_a_token() {
        assert_eq!(of("/v1/gateway?a=b&ticket=0af3", Some("Bearer x")), "ticket 0af3");
        assert_eq!(of("/v1/gateway?ticket=", Some("bearer x.y.z")), "bearer x.y.z");
        assert_eq!(of("/v1/gateway", Some("Basic x")), "missing");
        assert_eq!(of("/v1/gateway", None), "missing");
    }
}
