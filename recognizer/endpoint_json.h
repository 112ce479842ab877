/* Settings of endpoints in JSON (recognizer.h). */
#ifndef LINNET_ENDPOINT_JSON_H
#define LINNET_ENDPOINT_JSON_H

#include <linnet/endpoint.h>

#include "model/format/bounded_json.h"

/* Reads the object at a key of `object`. Members without a key have their defaults; `rules`
 * (LINNET_ENDPOINT_MAX_RULES) holds the rules that the settings then point to. */
enum linnet_status linnet_endpoint_json_read(const struct linnet_json_object *object, const char *key,
                                             struct linnet_endpoint_settings *settings,
                                             struct linnet_endpoint_rule *rules);

#endif
