/* The frame shift of an archive ARK: seconds in the text file ARK.frame_shift. */
#ifndef LINNET_FRAME_SHIFT_H
#define LINNET_FRAME_SHIFT_H

#include "base/base.h"
#include "base/file.h"

/* *seconds is 0 if there is no such file. LINNET_ERROR_FORMAT if it holds anything but a number above 0. */
enum linnet_status linnet_frame_shift_read(struct linnet_context *context, const char *ark_path, double *seconds);

/* Writes the file beside its name, to the disk as far as it has space: linnet_output_commit then cannot fail for lack
 * of that, and linnet_output_abandon leaves nothing. */
enum linnet_status linnet_frame_shift_prepare(struct linnet_context *context, const char *ark_path, double seconds,
                                              struct linnet_output *output);

/* Removes the file of an older archive, if there is one. */
enum linnet_status linnet_frame_shift_remove(struct linnet_context *context, const char *ark_path);

#endif
