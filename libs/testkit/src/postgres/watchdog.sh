# Stops the shared PostgreSQL once no test needs it. See postgres.rs for who holds which lock.
# Arguments: the directory, the minutes to wait, the seconds between looks.
base=$1 minutes=$2 look=$3
data=$base/server/data

pid=$(cat "$base/pid" 2>/dev/null)
# From here on we are the watchdog, or somebody else is.
exec 8>>"$base/watchdog.lock" || exit 1
flock -n 8 || exit 0

# Whether $pid is a process of this server, and no stranger that got its number.
ours() {
    case $(readlink "/proc/$pid/cwd") in
        "$data" | "$data (deleted)") return 0 ;;
    esac
    return 1
}

while :; do
    sleep "$look" 8>&-
    # The directory was removed, and perhaps made again: only the old server is our affair.
    if ! [ "$base/watchdog.lock" -ef "/proc/$$/fd/8" ]; then
        if [ -n "$pid" ] && ours; then kill -QUIT "$pid"; fi
        exit 0
    fi
    # If the directory goes while we are here, what was known stays known, and a failed redirection does not end us.
    now=$(cat "$base/pid" 2>/dev/null) && pid=$now
    touch "$base/looked"
    command exec 9>>"$base/users.lock" || continue
    if flock -n 9; then
        # Nobody uses it, and nobody can begin to until we exit or let go.
        if [ -z "$pid" ] || ! ours; then exit 0; fi
        if [ -z "$(find "$base/last_used" -mmin "-$minutes" 2>/dev/null)" ]; then
            rm -f "$base/url" "$base/pid"
            kill -QUIT "$pid"
            while ours; do sleep 0.1 8>&- 9>&-; done
            rm -rf "$base/server" "$base"/template_*.lock
            exit 0
        fi
    fi
    exec 9>&-
done
