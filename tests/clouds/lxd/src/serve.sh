#!/bin/sh
# Runs the LXD of a test in a folder of its own, until standard input ends, and leaves nothing behind.
#
#   serve.sh FOLDER
#
# The test holds the other end of standard input. However the test ends, even by kill -9, the kernel closes it, and this
# script then removes containers, processes, mounts and the folder.
set -u
trap '' HUP INT TERM
folder=$1
LXD_DIR=$folder
export LXD_DIR

lxd --group root > "$folder/lxd.log" 2>&1 &
daemon=$!
# Waits for the end of the test.
while read -r _; do :; done

# All containers at once: each takes a second to stop.
names=$(timeout 20 lxc query '/1.0/instances?recursion=0&all-projects=true' 2>/dev/null | tr -d '[]",' | tr -s ' \n' '\n\n')
for path in $names; do
  timeout 60 lxc query -X PUT --wait -d '{"action": "stop", "force": true}' "/1.0/instances/${path##*/}/state" \
    > /dev/null 2>&1 &
  stops="${stops:-} $!"
done
for stop in ${stops:-}; do wait "$stop"; done
timeout 30 lxd shutdown --timeout 10 > /dev/null 2>&1
kill "$daemon" 2> /dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do
  kill -0 "$daemon" 2> /dev/null || break
  sleep 0.2
done
kill -9 "$daemon" 2> /dev/null

# The rest of containers that did not stop, because the daemon was killed: their monitors and proxies name the folder in
# their command line, and the first process of a container is the child of its monitor.
for process in /proc/[0-9]*; do
  pid=${process#/proc/}
  [ "$pid" = $$ ] && continue
  line=$(tr '\0' ' ' < "$process/cmdline" 2> /dev/null)
  case $line in
    *"lxc monitor"*"$folder/"*) kill -9 $(cat "$process"/task/*/children 2> /dev/null) "$pid" 2> /dev/null ;;
    *fork*"$folder/"*) kill -9 "$pid" 2> /dev/null ;;
  esac
done
# Deepest first.
for mount in $(cut -d' ' -f2 /proc/mounts | grep -F "$folder/" | sort -r); do
  umount -l "$mount" 2> /dev/null
done
rm -rf --one-file-system "$folder"
