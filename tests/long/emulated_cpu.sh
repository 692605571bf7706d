#!/usr/bin/env bash
# The kernels that this machine's CPU cannot run, in their real instructions, on a Sapphire Rapids
# that Bochs emulates: Debian's kernel starts from a CD with nothing on it but the tests.
#   BOCHS=PROGRAM         Bochs 3.0 or newer, configured --with-nogui --enable-x86-64 --enable-avx
#                         --enable-evex --enable-amx --enable-cet --enable-protection-keys
#                         --enable-uintr --enable-memtype --disable-plugins
#   BOCHS_ROMS=DIR        its BIOS images (package bochsbios of the same version)
#   VMLINUZ=FILE          a Linux kernel, 5.16 or newer (package linux-image-cloud-amd64)
#   TABLES="avx512 ..."   docs/numerics.md says what Bochs 3.0 and 3.1 need before "amx" runs
# Also needs the packages busybox-static, cpio, genisoimage, isolinux and syslinux-common.
set -eu
. "$(dirname "$0")/../cli/top.bash"
[ -x "${BOCHS:-}" ] || skip "no emulator: set BOCHS (see the head of tests/long/emulated_cpu.sh)"
roms=${BOCHS_ROMS:-/usr/share/bochs} kernel=${VMLINUZ:-} tables=${TABLES:-avx512 avx512bf16}
[ -r "$kernel" ] || skip "no kernel: set VMLINUZ"
for program in busybox cpio genisoimage; do
    command -v $program >/dev/null || skip "no $program"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root cd=$work/cd

# --- the first file system: busybox, the tests, their libraries and files ---
mkdir -p "$root"/{bin,proc,dev,tmp} "$root/tests" "$cd/isolinux"
cp "$(command -v busybox)" "$root/bin/busybox"
for test in kern/test_kern grad/test_model_grad golden/test_golden; do
    cp "$B/tests/$test" "$root/bin/"
    ldd "$B/tests/$test" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root${library%/*}"
        cp -L "$library" "$root$library"
    done
done
cp -r tests/golden "$root/tests/"
cat > "$root/init" <<END
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
cd /
for test in test_kern test_model_grad; do \$test; echo "\$test: exit \$?"; done
for table in $tables; do test_golden \$table; echo "\$table: exit \$?"; done
/bin/busybox sleep 1000000
END
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) > "$cd/initrd"

# --- the CD ---
amx_off=clearcpuid=amx_tile
case " $tables " in *" amx "*) amx_off='' ;; esac
cp "$kernel" "$cd/vmlinuz"
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$cd/isolinux/"
cat > "$cd/isolinux/isolinux.cfg" <<END
DEFAULT tests
LABEL tests
  KERNEL /vmlinuz
  INITRD /initrd
  APPEND console=ttyS0,115200 loglevel=4 panic=-1 mitigations=off acpi=off ibt=off nokaslr $amx_off
END
genisoimage -quiet -o "$work/cd.iso" -b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot \
    -boot-load-size 4 -boot-info-table "$cd"

# --- the machine ---
cat > "$work/bochsrc" <<END
display_library: nogui
cpu: model=sapphire_rapids, count=1, ips=200000000
memory: guest=1024, host=1024
romimage: file=$roms/BIOS-bochs-latest
vgaromimage: file=$roms/VGABIOS-lgpl-latest
ata0-master: type=cdrom, path=$work/cd.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/serial.txt
log: $work/bochs.log
clock: sync=none
END
"$BOCHS" -q -f "$work/bochsrc" >"$work/out" 2>&1 </dev/null &
machine=$!
# Until the tests' last line is there.
last=${tables##* }
for _ in $(seq 3600); do
    kill -0 $machine 2>/dev/null || break
    grep -aq "^$last: exit" "$work/serial.txt" 2>/dev/null && break
    sleep 2
done
kill $machine 2>/dev/null || true
tr -d '\r' < "$work/serial.txt"
[ "$(tr -d '\r' < "$work/serial.txt" | grep -ac ': exit 0$')" = $(($(wc -w <<< "$tables") + 2)) ]
