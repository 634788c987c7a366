# tinyrt with its compilers and emulators, from this folder: docs/ci.md.
FROM debian:12-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/tinyrt
COPY requirements-hashes.txt /tmp/
RUN /opt/tinyrt/bin/pip install --no-cache-dir --require-hashes --requirement /tmp/requirements-hashes.txt
COPY . /src
RUN /opt/tinyrt/bin/pip install --no-cache-dir --no-deps /src

FROM debian:12-slim
# No core of 64 bits is among tinyrt's, and two emulators are all that it starts.
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
        gcc \
        gcc-arm-none-eabi \
        gcc-riscv64-unknown-elf \
        libc6-dev \
        libnewlib-arm-none-eabi \
        make \
        picolibc-riscv64-unknown-elf \
        python3 \
        qemu-system-arm \
        qemu-system-misc \
 && rm -rf /var/lib/apt/lists/* \
 && find /usr/lib/picolibc /usr/lib/gcc/riscv64-unknown-elf -type d -name 'rv64*' -prune -exec rm -r {} + \
 && find /usr/bin -name 'qemu-system-*' ! -name '*-arm' ! -name '*-riscv32' -delete \
 && useradd --create-home --uid 1000 tinyrt
COPY --from=build /opt/tinyrt /opt/tinyrt
ENV PATH=/opt/tinyrt/bin:$PATH
USER tinyrt
WORKDIR /work
ENTRYPOINT ["tinyrt"]
CMD ["doctor", "--need", "arm", "--need", "riscv", "--need", "compiler"]
