#!/bin/sh
# Builds the image of the containers: Debian 12 with systemd and cloud-init, in the form of an LXD image.
#
#   image.sh FOLDER [MIRROR]
#
# Writes FOLDER/metadata.tar and FOLDER/rootfs.squashfs, and FOLDER/small.tar: an image of busybox alone. The digest of
# this file is that of the recipe: the crate keeps the result below its cache under that name, so a change here builds
# new images.
set -eu

folder=$1
mirror=${2:-http://deb.debian.org/debian}
work=$(mktemp -d "$folder/build-XXXXXX")
root=$work/rootfs
# Nothing may stay mounted below a folder that is removed.
clean_up() {
  umount "$root/proc" "$root/sys" 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

# debootstrap does not resolve cloud-init's virtual packages, so apt installs it afterwards.
debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,ca-certificates,udev,iproute2 \
  bookworm "$root" "$mirror"

cat > "$root/etc/dpkg/dpkg.cfg.d/small" <<'END'
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/man/*
path-exclude=/usr/share/locale/*
END
printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
chroot "$root" apt-get update
chroot "$root" apt-get install --yes --no-install-recommends cloud-init busybox-static
rm "$root/usr/sbin/policy-rc.d"

# The seed comes from the templates below. No other source of data is tried, so a boot takes two seconds.
cat > "$root/etc/cloud/cloud.cfg.d/99-lxd.cfg" <<'END'
datasource_list: [ NoCloud ]
network: { config: disabled }
cloud_init_modules: [bootcmd, write-files, update_hostname, users-groups]
cloud_config_modules: [set-passwords, timezone, runcmd]
cloud_final_modules: [package-update-upgrade-install, write-files-deferred, scripts-user, final-message]
END
# User data may enable it, as on images of kubeadm. The program is a folder that the test shows to the container.
cat > "$root/etc/systemd/system/kubelet.service" <<'END'
[Unit]
Description=kubelet
StartLimitIntervalSec=0
[Service]
EnvironmentFile=/etc/default/kubelet
Environment=GOMAXPROCS=1
ExecStart=/opt/kubelet/kubelet --machine-id=%m --boot-id=%b $KUBELET_EXTRA_ARGS
Restart=always
RestartSec=1
[Install]
WantedBy=multi-user.target
END
# Containers have no console, no clock, no disks of their own.
for unit in systemd-timesyncd.service getty.target console-getty.service systemd-udevd.service \
  systemd-udev-trigger.service systemd-journal-flush.service apt-daily.timer apt-daily-upgrade.timer \
  systemd-binfmt.service fstrim.timer e2scrub_all.timer e2scrub_reap.service dpkg-db-backup.timer systemd-networkd-wait-online.service; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
# Logs stay in memory.
mkdir -p "$root/etc/systemd/journald.conf.d"
printf '[Journal]\nStorage=volatile\nRuntimeMaxUse=8M\n' > "$root/etc/systemd/journald.conf.d/small.conf"
: > "$root/etc/machine-id"
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* "$root"/usr/share/doc "$root"/usr/share/man \
  "$root"/usr/share/locale "$root"/var/log/* "$root"/var/lib/dbus/machine-id "$root"/var/cache/debconf/*-old
# Compiled modules stay: without them the four stages of cloud-init take twice as long.

mkdir "$work/templates"
cat > "$work/metadata.yaml" <<'END'
architecture: x86_64
creation_date: 1700000000
properties: { os: debian, release: bookworm, description: "Debian 12 with systemd and cloud-init" }
templates:
  /etc/hostname: { when: [create, copy, rename], template: hostname.tpl }
  /etc/hosts: { when: [create, copy, rename], template: hosts.tpl }
  /var/lib/cloud/seed/nocloud-net/meta-data: { when: [create, copy], template: meta-data.tpl }
  /var/lib/cloud/seed/nocloud-net/user-data: { when: [create, copy], template: user-data.tpl }
  /var/lib/cloud/seed/nocloud-net/vendor-data: { when: [create, copy], template: vendor-data.tpl }
END
printf '{{ container.name }}\n' > "$work/templates/hostname.tpl"
printf '127.0.0.1 localhost {{ container.name }}\n::1 localhost\n' > "$work/templates/hosts.tpl"
printf 'instance-id: {{ container.name }}\nlocal-hostname: {{ container.name }}\n' > "$work/templates/meta-data.tpl"
# pongo2 knows no escapes such as \n in its texts.
seed() {
  printf '{%% if config_get("cloud-init.%s", "") != "" %%}{{ config_get("cloud-init.%s", "") }}{%% else %%}' "$1" "$1"
  printf '{{ config_get("user.%s", "#cloud-config") }}{%% endif %%}\n' "$1"
}
seed user-data > "$work/templates/user-data.tpl"
seed vendor-data > "$work/templates/vendor-data.tpl"

tar --create --file "$work/metadata.tar" --directory "$work" metadata.yaml templates
mksquashfs "$root" "$work/rootfs.squashfs" -noappend -no-progress -quiet -comp lz4

# The second image: one program, which starts in no time. It runs no user data.
mkdir -p "$work/small/rootfs/bin" "$work/small/rootfs/sbin" "$work/small/rootfs/etc" "$work/small/rootfs/dev" \
  "$work/small/rootfs/proc" "$work/small/rootfs/sys" "$work/small/rootfs/run" "$work/small/rootfs/tmp"
cp "$root/bin/busybox" "$work/small/rootfs/bin/busybox"
ln -s ../bin/busybox "$work/small/rootfs/sbin/init"
ln -s busybox "$work/small/rootfs/bin/sh"
printf 'null::respawn:/bin/busybox sleep 1000000\n' > "$work/small/rootfs/etc/inittab"
cat > "$work/small/metadata.yaml" <<'END'
architecture: x86_64
creation_date: 1700000000
properties: { os: busybox, release: small, description: "busybox as init" }
END
tar --create --file "$work/small.tar" --directory "$work/small" metadata.yaml rootfs

mv "$work/metadata.tar" "$work/rootfs.squashfs" "$work/small.tar" "$folder/"
