#!/bin/bash
# stop_on_notice.sh COMMAND [ARGUMENT...]: runs the command, and sends it SIGTERM when a notice of GridEngine comes
# (SIGUSR1 or SIGUSR2, to all processes of a job). The command does not get the notice. Ends with the command's status.
noticed=''
trap 'trap "" USR1 USR2; noticed=yes; [ -z "$!" ] || kill -TERM "$!"' USR1 USR2
(trap '' USR1 USR2 && exec "$@") &
[ -z "$noticed" ] || kill -TERM "$!" # it came before there was a command
while
	wait "$!"
	status=$?
	[ -n "$noticed" ]
do noticed=''; done # the notice ended the wait, not the command
exit "$status"
