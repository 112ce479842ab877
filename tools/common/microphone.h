/* A microphone as an input of audio. */
#ifndef LINNET_TOOL_MICROPHONE_H
#define LINNET_TOOL_MICROPHONE_H

#include <linnet/audio.h>

#include "tool.h"

struct microphone;

/* Prints the devices that record, one per line: number, name, sample rate, and which is the default. Returns the exit
 * code. */
int microphone_list(void);

/* Starts to record from a device: a number or a part of a name of microphone_list; NULL is the default. `sample_rate`
 * is that of `audio`, which belongs to the microphone. NULL after printing why it failed. */
struct microphone *microphone_open(struct linnet_context *context, const char *device, double sample_rate,
                                   struct linnet_audio **audio);

/* Seconds of audio that were recorded and not read yet, without about a second that is in `audio`. */
double microphone_waiting(const struct microphone *microphone);

void microphone_close(struct microphone *microphone);

#endif
