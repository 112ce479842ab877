/* The frame shift of an archive ARK: seconds in the text file ARK.frame_shift. */
#ifndef LINNET_FRAME_SHIFT_H
#define LINNET_FRAME_SHIFT_H

#include "base/base.h"
#include "base/file.h"

/* *seconds is 0 if there is no such file. LINNET_ERROR_FORMAT if its content is not a number above 0. */
enum linnet_status linnet_frame_shift_read(struct linnet_context *context, const char *ark_path, double *seconds);

/* Writes the temporary file to the disk, so that linnet_output_file_commit cannot fail because the disk is full.
 * linnet_output_file_abandon removes it. */
enum linnet_status linnet_frame_shift_prepare(struct linnet_context *context, const char *ark_path, double seconds,
                                              struct linnet_output_file *output);

/* Removes the file of an older archive, if there is one. */
enum linnet_status linnet_frame_shift_remove(struct linnet_context *context, const char *ark_path);

#endif
