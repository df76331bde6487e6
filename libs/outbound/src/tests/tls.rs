//! Whom TLS trusts.

use rcgen::{CertifiedKey, generate_simple_self_signed};
use reqwest::Certificate;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::*;

const HOST: &str = "hook.example.com";

fn settings() -> OutboundSettings {
    OutboundSettings { allow_http: false, ..open() }
}

/// Every name is this machine; trusted is `root` alone.
fn trusting(root: &CertificateDer<'_>) -> Outbound {
    let root = Certificate::from_der(root).unwrap();
    let http = Client::builder().tls_certs_only([root]);
    Outbound::build(&settings(), Arc::new(|_| Ok(vec![Ipv4Addr::LOCALHOST.into()])), http).unwrap()
}

/// A server with a certificate of its own making for [`HOST`]; its port and the certificate.
async fn serve() -> (Server, CertificateDer<'static>) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed([HOST.to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let server = Server::raw(move |socket| {
        let acceptor = acceptor.clone();
        async move {
            // Who does not trust us leaves.
            if let Ok(mut socket) = acceptor.accept(socket).await {
                read_request(&mut socket).await;
                write(socket, OK).await;
            }
        }
    });
    (server.await, cert.der().clone())
}

#[tokio::test]
async fn a_certificate_that_is_good_for_the_host_is_trusted() {
    let (server, certificate) = serve().await;
    let url = format!("https://{HOST}:{}/hook", server.address().port());
    let answer = trusting(&certificate).post(to(&url)).await.unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (StatusCode::OK, "ok"));
}

#[tokio::test]
async fn who_can_not_prove_to_be_the_host_is_sent_nothing() {
    let (server, certificate) = serve().await;
    let port = server.address().port();
    let (_, other) = serve().await;
    let plain = Server::start(|socket| write(socket, OK)).await;
    let plain = plain.address().port();
    for (outbound, host, port, says) in [
        (trusting(&other), HOST, port, "invalid peer certificate"),
        (trusting(&certificate), "other.example.com", port, "not valid for name"),
        (trusting(&certificate), HOST, plain, "corrupt message"),
    ] {
        let error = failure(&outbound, &format!("https://{host}:{port}"), LIMIT).await;
        let OutboundError::Tls { host: named, problem } = &error else { panic!("{error:?}") };
        assert!(named == host && problem.contains(says), "{error}");
        assert!(error.is_retryable());
    }
}

#[tokio::test]
async fn plain_http_is_refused_unless_allowed() {
    let server = Server::start(|socket| write(socket, OK)).await;
    let error = failure(&Outbound::new(&settings()).unwrap(), &server.url(), LIMIT).await;
    assert!(error.to_string().contains("allowed is https://"), "{error}");
    assert_eq!(server.connections(), 0);
}
