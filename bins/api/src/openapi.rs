//! The OpenAPI document, made from the routes themselves.

use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, ContactBuilder, Content, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr,
    ResponseBuilder, SecurityRequirement,
};
use utoipa::{PartialSchema as _, ToSchema as _};

use crate::problem::{Document, FieldError, MEDIA_TYPE};

/// The name of the security scheme.
const BEARER: &str = "bearer";

/// The document that routes are added to.
pub(crate) fn base() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Switchboard")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Realtime backend for people and agents. Errors are problem documents (RFC 9457)."))
        .contact(Some(ContactBuilder::new().name(Some("The operator of this server")).build()))
        .build();
    let components = ComponentsBuilder::new()
        .schema(Document::name(), Document::schema())
        .schema(FieldError::name(), FieldError::schema())
        .security_scheme(BEARER, SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)))
        .build();
    OpenApiBuilder::new()
        .info(info)
        .components(Some(components))
        .security(Some([SecurityRequirement::new(BEARER, [] as [&str; 0])]))
        .build()
}

/// Adds to every operation what all have in common: the answer in case of an error.
pub(crate) fn finish(mut document: OpenApi) -> OpenApi {
    let problem = ResponseBuilder::new()
        .description("A problem: `code` says which, `docs/errors.md` lists them")
        .content(MEDIA_TYPE, Content::new(Some(RefOr::Ref(Ref::from_schema_name(Document::name())))))
        .build();
    for item in document.paths.paths.values_mut() {
        for operation in operations(item) {
            operation.responses.responses.insert("default".into(), RefOr::T(problem.clone()));
        }
    }
    document
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch].into_iter().flatten()
}
