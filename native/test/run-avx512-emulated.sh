#!/bin/bash
# Runs test programs on AVX-512 where the machine has none: a Linux kernel under the Bochs emulator, with
# the programs as its only processes. Give statically linked programs; several minutes each.
#
#   run-avx512-emulated.sh PROGRAM...
#
# Debian packages: bochs bochsbios isolinux syslinux-common xorriso cpio busybox-static, and the image of
# a kernel with a built-in serial console; KERNEL=FILE names it (default: the newest /boot/vmlinuz-*).
set -euo pipefail

kernel=${KERNEL:-$(ls -t /boot/vmlinuz-* 2>/dev/null | head -1)}
[ -r "$kernel" ] || {
  echo "no kernel image in /boot; apt-get download linux-image-cloud-amd64's image package," \
    "unpack it with dpkg -x and give KERNEL=.../boot/vmlinuz-..." >&2
  exit 2
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# the initial file system: busybox, the programs, and an init that runs them and switches off
mkdir -p "$work"/root/{bin,proc,dev} "$work"/iso/isolinux
cp /bin/busybox "$work/root/bin/"
names=()
for program in "$@"; do
  strip -o "$work/root/bin/$(basename "$program")" "$program"
  names+=("$(basename "$program")")
done
cat > "$work/root/init" <<I
#!/bin/busybox sh
/bin/busybox mount -t proc none /proc
for test in ${names[*]}; do
  RFA_ISA=avx512 RFA_TEST_STEP=${RFA_TEST_STEP:-400009} /bin/\$test
  echo "\$test: exit \$?"
done
/bin/busybox sleep 2 # the serial line is slow
/bin/busybox poweroff -f
I
chmod +x "$work/root/init"
(cd "$work/root" && find . | cpio --quiet -o -H newc | gzip -1) > "$work/iso/initrd"

# Bochs 2.7 states the size of compacted XSAVE areas wrongly: without XSAVEC and XSAVES (bits 321 and
# 323) Linux takes the standard format instead of disabling the wide registers
cp "$kernel" "$work/iso/vmlinuz"
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$work/iso/isolinux/"
cat > "$work/iso/isolinux/isolinux.cfg" <<'I'
default linux
label linux
  kernel /vmlinuz
  append initrd=/initrd console=ttyS0 quiet nokaslr mitigations=off clearcpuid=321,323 tsc=unstable lpj=1000000 rdinit=/init
I
xorriso -as mkisofs -quiet -o "$work/boot.iso" -b isolinux/isolinux.bin -c isolinux/boot.cat \
  -no-emul-boot -boot-load-size 4 -boot-info-table "$work/iso" 2> /dev/null

cat > "$work/bochsrc" <<I
cpu: model=corei7_skylake_x, ips=50000000
memory: guest=1024, host=1024
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
ata0-master: type=cdrom, path=$work/boot.iso, status=inserted
boot: cdrom
display_library: rfb, options="timeout=0"
sound: waveoutdrv=dummy, waveindrv=dummy, midioutdrv=dummy
speaker: enabled=1, mode=none
com1: enabled=1, mode=file, dev=$work/serial
log: $work/bochs.log
panic: action=fatal
error: action=ignore
info: action=ignore
I
# Debian's build has the debugger in it: it starts on a "continue"
echo c > "$work/continue"
bochs-bin -q -f "$work/bochsrc" -rc "$work/continue" < /dev/null > "$work/screen" 2>&1 || true

tr -d '\r' < "$work/serial" | grep -v '^\[' || true
passed=$(grep -c ': exit 0' "$work/serial" || true)
[ "$passed" = "${#names[@]}" ]
