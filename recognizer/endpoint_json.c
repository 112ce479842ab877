/* Reads rules and thresholds of endpoints. */
#include "recognizer/endpoint_json.h"

#include <stddef.h>

#define RULE_KEY(name, kind)                                                                                           \
  { .key = #name, .type = LINNET_JSON_##kind, .offset = offsetof(struct linnet_endpoint_rule, name) }
#define SETTING_KEY(name, kind)                                                                                        \
  { .key = #name, .type = LINNET_JSON_##kind, .offset = offsetof(struct linnet_endpoint_settings, name) }

static const struct linnet_json_key rule_keys[] = {RULE_KEY(speech, FLAG), RULE_KEY(word, FLAG),
                                                   RULE_KEY(silence, DOUBLE), RULE_KEY(quiet, DOUBLE),
                                                   RULE_KEY(length, DOUBLE)};
static const struct linnet_json_table rule_table = {"a rule of endpoint", rule_keys,
                                                    sizeof rule_keys / sizeof *rule_keys};
static const struct linnet_json_key setting_keys[] = {
    {.key = "rules"}, SETTING_KEY(silence_probability, FLOAT), SETTING_KEY(restart, FLAG)};
static const struct linnet_json_table setting_table = {"endpoint", setting_keys,
                                                       sizeof setting_keys / sizeof *setting_keys};

static enum linnet_status read_rules(const struct linnet_json_object *endpoint, const json_t *list,
                                     struct linnet_endpoint_rule *rules) {
  if (!json_is_array(list) || json_array_size(list) > LINNET_ENDPOINT_MAX_RULES)
    return linnet_fail(endpoint->context, LINNET_ERROR_FORMAT,
                       "%s: endpoint: \"rules\" is not a list of at most %d rules", endpoint->name,
                       LINNET_ENDPOINT_MAX_RULES);
  for (size_t i = 0; i < json_array_size(list); i++) {
    rules[i] = (struct linnet_endpoint_rule){.speech = 0};
    LINNET_TRY(
        linnet_json_read(endpoint->context, endpoint->name, json_array_get(list, i), &rule_table, 0, &rules[i]).status);
  }
  return LINNET_OK;
}

enum linnet_status linnet_endpoint_json_read(const struct linnet_json_object *object, const char *key,
                                             struct linnet_endpoint_settings *settings,
                                             struct linnet_endpoint_rule *rules) {
  linnet_endpoint_settings_default(settings);
  const struct linnet_json_object endpoint =
      linnet_json_read(object->context, object->name, json_object_get(object->value, key), &setting_table, 0, settings);
  const json_t *list = json_object_get(endpoint.value, "rules");
  if (endpoint.status != LINNET_OK || !list)
    return endpoint.status;
  LINNET_TRY(read_rules(&endpoint, list, rules));
  settings->rules = rules;
  settings->num_rules = json_array_size(list);
  return LINNET_OK;
}
