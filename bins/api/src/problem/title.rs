//! Titles of problem documents: one for each code, always the same.

use domain::ErrorCode;

/// The title of a code.
#[must_use]
pub const fn title(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::InvalidField => "A field is not allowed",
        ErrorCode::Malformed => "The body is not readable",
        ErrorCode::Unauthenticated => "Not signed in",
        ErrorCode::BadCredentials => "Handle or password is wrong",
        ErrorCode::TokenExpired => "The access token is past its time",
        ErrorCode::SessionRevoked => "The sign-in was ended",
        ErrorCode::RefreshReused => "The refresh token was used before",
        ErrorCode::BadTicket => "The ticket is not good",
        ErrorCode::BadSignature => "The signature is not good",
        ErrorCode::Forbidden => "Not allowed",
        ErrorCode::Disabled => "The account is disabled",
        ErrorCode::RegistrationClosed => "Registration is closed",
        ErrorCode::OriginRefused => "The origin is not allowed",
        ErrorCode::NotFound => "Not found",
        ErrorCode::MethodNotAllowed => "The method is not offered here",
        ErrorCode::UnsupportedMediaType => "The body's type is not taken",
        ErrorCode::HandleTaken => "The handle is taken",
        ErrorCode::Conflict => "The present state does not allow this",
        ErrorCode::MessageDeleted => "The message was deleted",
        ErrorCode::NonceReused => "The nonce was used before",
        ErrorCode::RateLimited => "Too many requests",
        ErrorCode::Locked => "The account is locked",
        ErrorCode::TooLarge => "Too large",
        ErrorCode::ConnectionLimit => "No more connections",
        ErrorCode::Unavailable => "Not available at the moment",
        ErrorCode::Timeout => "It took too long",
        ErrorCode::Internal => "A fault of the server",
    }
}
