#!/bin/sh
# Boots a private Debian with systemd: sh boot-machine.sh ROOT CHECKOUT INSTALLATION
# Run by tests in namespaces of its own (mount, pid, network, ipc, uts, cgroup).  ROOT is an empty folder.
#
# Nothing of the real machine can be written from inside: the root is a tmpfs, /usr is bound read-only, all else is
# copied, and the old root is unmounted before systemd starts.  That is checked first, because systemd cleans /tmp.
set -eu
if [ $$ != 1 ]; then
    echo "this is only for the first process of a new pid namespace" >&2
    exit 1
fi
root=$1 checkout=$2 installation=$3
mount --make-rprivate /
mount -t tmpfs -o mode=755 noid-machine "$root"
cd "$root"
mkdir -m 755 usr proc sys dev run srv opt home checkout old var var/lib var/cache var/log var/www var/www/html
mkdir -m 700 root
mkdir -m 1777 tmp var/tmp
for link in bin sbin lib lib32 lib64 libx32; do
    if [ -L "/$link" ]; then cp -P "/$link" .; fi
done
mount --bind /usr usr
mount -o remount,bind,ro usr
mount -t tmpfs -o mode=755 tmpfs usr/local/bin
mount -t tmpfs -o mode=755 tmpfs usr/local/share
cp -a /etc etc
rm -rf etc/noid etc/fstab etc/machine-id etc/systemd/system/*.wants etc/nginx/conf.d/*
mkdir -p var/log/apache2 var/log/nginx var/cache/apache2/mod_cache_disk var/lib/nginx
[ ! -d /var/lib/apache2 ] || cp -a /var/lib/apache2 var/lib/
mkdir var/lib/dpkg
mount --bind /var/lib/dpkg var/lib/dpkg
mount -o remount,bind,ro var/lib/dpkg
chown www-data: var/cache/apache2/mod_cache_disk
ln -s /run var/run
ln -s /run/lock var/lock
head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n' > etc/machine-id
# What a machine without devices, kernel or consoles of its own has no use for.
for unit in systemd-tmpfiles-setup.service systemd-tmpfiles-setup-dev.service systemd-tmpfiles-clean.timer \
    systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-udev-trigger.service \
    systemd-sysctl.service systemd-modules-load.service systemd-timesyncd.service systemd-random-seed.service \
    systemd-hwdb-update.service systemd-remount-fs.service systemd-binfmt.service systemd-sysusers.service \
    systemd-update-utmp.service systemd-logind.service systemd-journal-flush.service systemd-pstore.service \
    systemd-firstboot.service systemd-machine-id-commit.service systemd-update-done.service systemd-repart.service \
    sys-kernel-config.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-fs-fuse-connections.mount \
    dev-hugepages.mount dev-mqueue.mount proc-sys-fs-binfmt_misc.automount systemd-ask-password-console.path \
    systemd-ask-password-wall.path systemd-initctl.socket kmod-static-nodes.service ldconfig.service; do
    ln -sf /dev/null "etc/systemd/system/$unit"
done
printf '[Unit]\nDescription=A machine for tests\n' > etc/systemd/system/noid-machine.target
cp -a "$checkout/." checkout/
if [ -n "$installation" ]; then
    cp -a "$installation" opt/noid
    grep -rlI "$installation" opt/noid/bin opt/noid/pyvenv.cfg | xargs sed -i "s|$installation|/opt/noid|g"
fi
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
    : > "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s fd/0 dev/stdin
ln -s fd/1 dev/stdout
ln -s fd/2 dev/stderr
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mkdir run/lock
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
pivot_root . old
cd /
umount -l /old
rmdir /old
if [ -e /old ] || touch /usr/written 2>/dev/null || touch /var/lib/dpkg/written 2>/dev/null || [ "$(stat -f -c %T /tmp)" != tmpfs ] ||
    [ "$(stat -f -c %T /var)" != tmpfs ] || [ "$(stat -f -c %T /etc)" != tmpfs ]; then
    echo "the machine is not apart from the real one" >&2
    exit 1
fi
export container=noid-machine PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
exec setpriv --bounding-set -sys_time,-sys_module,-sys_rawio --inh-caps -sys_time,-sys_module,-sys_rawio \
    /lib/systemd/systemd --system --unit=noid-machine.target --log-target=console --log-level=notice --show-status=0
