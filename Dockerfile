# Two images from one build. `gateway` has no shell and no database; `embedded` brings PostgreSQL with it.
#   docker build --target gateway  -t tokenmarket .
#   docker build --target embedded -t tokenmarket:embedded .
# After `npm ci` no step uses the network.

FROM node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build
RUN npm sbom --omit dev --sbom-format cyclonedx > sbom.cdx.json
RUN mkdir -p /empty/etc/tokenmarket/manifests

FROM build AS gateway-files
RUN npm prune --omit=dev --omit=optional --ignore-scripts

FROM build AS embedded-files
RUN npm prune --omit=dev --ignore-scripts

FROM gcr.io/distroless/nodejs24-debian12:nonroot@sha256:14d42e2511532589a7c7e01a753667a74fcc96266e137e8125006b87b0c32d0a AS gateway
WORKDIR /app
COPY --from=gateway-files /empty/ /
COPY --from=gateway-files /src/package.json /src/LICENSE /src/sbom.cdx.json ./
COPY --from=gateway-files /src/manifests/ ./manifests/
COPY --from=gateway-files /src/schema/ ./schema/
COPY --from=gateway-files /src/node_modules/ ./node_modules/
COPY --from=gateway-files /src/dist/ ./dist/
ARG BUILD_COMMIT=
ENV NODE_ENV=production \
    TM_BUILD_COMMIT=$BUILD_COMMIT \
    TM_HOST=0.0.0.0 \
    TM_INTERNAL_HOST=0.0.0.0 \
    TM_MANIFESTS=/etc/tokenmarket/manifests \
    TM_SHUTDOWN_DELAY_MS=10000 \
    TM_SHUTDOWN_GRACE_MS=450000
EXPOSE 8080 8081 8082
STOPSIGNAL SIGTERM
USER 65532:65532
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
    CMD ["/nodejs/bin/node", "--max-semi-space-size=16", "/app/dist/cli/main.js", "probe"]
# Half of what Node 24 takes for young objects: as fast, and 2,000 open streams take 40 MB less.
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=16", "/app/dist/cli/main.js"]
CMD ["serve"]

# PostgreSQL's initdb needs a shell and an entry in /etc/passwd, hence a full Debian and a fixed user.
FROM node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d AS embedded
RUN groupadd --gid 65532 nonroot \
    && useradd --uid 65532 --gid 65532 --home-dir /data --no-create-home --shell /usr/sbin/nologin nonroot \
    && mkdir /data \
    && chown 65532:65532 /data
WORKDIR /app
COPY --from=embedded-files /empty/ /
COPY --from=embedded-files /src/package.json /src/LICENSE /src/sbom.cdx.json ./
COPY --from=embedded-files /src/manifests/ ./manifests/
COPY --from=embedded-files /src/schema/ ./schema/
COPY --from=embedded-files /src/node_modules/ ./node_modules/
COPY --from=embedded-files /src/dist/ ./dist/
ARG BUILD_COMMIT=
ENV NODE_ENV=production \
    TM_BUILD_COMMIT=$BUILD_COMMIT \
    TM_HOST=0.0.0.0 \
    TM_INTERNAL_HOST=0.0.0.0 \
    TM_DATA=/data \
    TM_MANIFESTS=/etc/tokenmarket/manifests \
    TM_SHUTDOWN_DELAY_MS=10000 \
    TM_SHUTDOWN_GRACE_MS=450000
VOLUME ["/data"]
EXPOSE 8080 8081 8082
STOPSIGNAL SIGTERM
USER 65532:65532
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
    CMD ["node", "--max-semi-space-size=16", "/app/dist/cli/main.js", "probe"]
ENTRYPOINT ["node", "--max-semi-space-size=16", "/app/dist/cli/main.js"]
CMD ["serve"]
