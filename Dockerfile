# One image for every role: switchboard, switchboard-api, switchboard-gateway, switchboard-worker.
#
#   docker build --tag switchboard --build-arg REVISION="$(git rev-parse HEAD)" .
#
# It holds the programs, the root certificates of the time it was built, and nothing that they would have to write to but
# the directories of their keys. docs/operations/compose.md says what it takes and how it is run.

FROM rust:1.95.0-slim-bookworm AS build

# The allocator is built from its C sources, with make. Any make will do.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /src
COPY . .

# The caches of cargo stay with the builder; the programs are copied out of them. Lines for backtraces are left out, names
# of functions are not.
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/src/target,sharing=locked \
    cargo build --release --locked \
        --package switchboard --package switchboard-api \
        --package switchboard-gateway --package switchboard-worker \
    && mkdir -p /out/bin /out/keys/keys /out/keys/push \
    && for program in switchboard switchboard-api switchboard-gateway switchboard-worker; do \
        strip --strip-debug -o "/out/bin/$program" "target/release/$program" || exit 1; \
    done \
    && chmod 0700 /out/keys/keys /out/keys/push

FROM debian:12.12-slim

# Webhooks and push services are checked against these.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /src/LICENSE-APACHE /src/LICENSE-MIT /usr/share/doc/switchboard/
COPY --from=build /out/bin/ /usr/local/bin/
# A volume that is mounted on one of these begins with its owner and mode.
COPY --from=build --chown=65532:65532 /out/keys/ /var/lib/switchboard/

# A number, so that Kubernetes can tell that it is not root.
USER 65532:65532
WORKDIR /var/lib/switchboard

# What docs/operations uses: http.listen, gateway.listen, admin.listen.
EXPOSE 8080 8081 9600

# Whether the process lives: what restarts containers that are not healthy must not restart all of them because the
# database is away. compose.yaml asks whether a node is ready instead.
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["switchboard", "healthcheck", "live"]

CMD ["switchboard"]

ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Switchboard" \
    org.opencontainers.image.description="A self-hosted realtime backend for people and AI agents" \
    org.opencontainers.image.licenses="MIT OR Apache-2.0" \
    org.opencontainers.image.base.name="debian:12.12-slim" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"
