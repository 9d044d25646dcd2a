# syntax=docker/dockerfile:1

# The server with its web page, as `npm run package:cli` makes them. It contains no runner: those run on people's machines.
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/root/.npm npm run package:cli

# Node without npm: nothing is installed at run time.
FROM debian:bookworm-slim
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /src/dist/countersign /opt/countersign
RUN ln -s /opt/countersign/countersign.mjs /usr/local/bin/countersign \
  && install -d -o 10001 -g 10001 -m 0700 /data

# An address other than loopback needs a secret or an issuer, and the public address: see docs/deployment.md.
ENV NODE_ENV=production \
  HOME=/tmp \
  COUNTERSIGN_HOST=0.0.0.0 \
  COUNTERSIGN_PORT=4180 \
  COUNTERSIGN_DATABASE=/data/countersign.db
USER 10001:10001
VOLUME ["/data"]
EXPOSE 4180
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=4s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.COUNTERSIGN_PORT}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "/opt/countersign/apps/server/src/main.js"]
