//! What a client shows to be let in.

use axum::http::Request;
use axum::http::header::AUTHORIZATION;

use crate::websocket::Refusal;

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
    /// Reads them; two of a kind are refused, because of two readers each might take another one.
    pub(crate) fn of<B>(request: &Request<B>) -> Result<Self, Refusal> {
        let query = request.uri().query().unwrap_or_default();
        let mut tickets = query.split('&').filter_map(|pair| match pair.split_once('=') {
            Some(("ticket", ticket)) => Some(ticket),
            None if pair == "ticket" => Some(""),
            _ => None,
        });
        let mut authorizations = request.headers().get_all(AUTHORIZATION).iter();
        let (ticket, authorization) = (tickets.next(), authorizations.next());
        if tickets.next().is_some() || authorizations.next().is_some() {
            return Err(Refusal::Credentials);
        }
        if let Some(ticket) = ticket.filter(|ticket| !ticket.is_empty()) {
            // Hex digits need no decoding; what does is no ticket.
            return Ok(Self::Ticket(ticket.to_owned()));
        }
        let bearer = authorization
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        Ok(bearer.map_or(Self::Missing, |(_, token)| Self::Bearer(token.trim().to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(uri: &str, authorizations: &[&str]) -> String {
        let request = authorizations
            .iter()
            .fold(Request::builder().uri(uri), |request, value| request.header(AUTHORIZATION, *value));
        match Credentials::of(&request.body(()).unwrap()) {
            Ok(Credentials::Ticket(ticket)) => format!("ticket {ticket}"),
            Ok(Credentials::Bearer(token)) => format!("bearer {token}"),
            Ok(Credentials::Missing) => "missing".into(),
            Err(refusal) => refusal.label().into(),
        }
    }

    #[test]
    fn a_ticket_goes_before_a_token() {
        assert_eq!(of("/v1/gateway?a=b&ticket=0af3", &["Bearer x"]), "ticket 0af3");
        assert_eq!(of("/v1/gateway?ticket=", &["bearer x.y.z"]), "bearer x.y.z");
        assert_eq!(of("/v1/gateway?tickets=0af3&aticket=0af3", &[]), "missing");
        assert_eq!(of("/v1/gateway", &["Basic x"]), "missing");
        assert_eq!(of("/v1/gateway", &[]), "missing");
    }

    #[test]
    fn two_of_a_kind_are_refused() {
        for query in [
            "ticket=0af3&ticket=0af4",
            "ticket=0af3&a=b&ticket=0af3",
            "ticket=&ticket=0af3",
            "ticket&ticket=0af3",
        ] {
            assert_eq!(of(&format!("/v1/gateway?{query}"), &[]), "credentials", "{query}");
        }
        assert_eq!(of("/v1/gateway", &["Bearer x", "Bearer x"]), "credentials");
    }
}
