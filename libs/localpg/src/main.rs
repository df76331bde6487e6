//! `localpg DIR`: a private PostgreSQL for trying things by hand. Prints its URL and runs until ctrl-c.

use std::process::ExitCode;

use localpg::{Error, Options, Server};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(dir) = std::env::args_os().nth(1) else {
        eprintln!("usage: localpg DIR");
        return ExitCode::from(2);
    };
    match serve(Options::durable(dir)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(options: Options) -> Result<(), Error> {
    let mut server = Server::start(options).await?;
    println!("{}", server.url());
    let ended = tokio::select! {
        ended = server.ended() => Some(ended?),
        _ = tokio::signal::ctrl_c() => None,
    };
    match ended {
        Some(status) => Err(Error::Ended { status: status.to_string(), log: "see server.log".to_owned() }),
        None => server.stop().await,
    }
}
