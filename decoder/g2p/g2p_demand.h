/* A model of pronunciations that is loaded when it is first needed. Loading takes a tenth of a second, and most
 * searches and texts need no guess.
 *
 * Threads: linnet_g2p_demand_model may be called from any thread; the first call loads, the others wait. */
#ifndef LINNET_G2P_DEMAND_H
#define LINNET_G2P_DEMAND_H

#include <linnet/g2p.h>
#include <linnet/source.h>

struct linnet_g2p_demand;

/* Bytes in memory are loaded at once, because they may be released afterwards, and so is what is no regular file. A
 * file is not opened yet. Without a source *demand is NULL. */
enum linnet_status linnet_g2p_demand_create(struct linnet_context *context, const struct linnet_source *source,
                                            struct linnet_g2p_demand **demand);

/* Refuses a file that cannot be read or does not begin as models do. NULL is allowed. */
enum linnet_status linnet_g2p_demand_check(const struct linnet_g2p_demand *demand, struct linnet_context *context);

/* The model, which lives as long as `demand`. A failure has its sentence in `context`; the next call tries again. */
enum linnet_status linnet_g2p_demand_model(struct linnet_g2p_demand *demand, struct linnet_context *context,
                                           const struct linnet_g2p **g2p);

/* Destroys the model, too; NULL is allowed. */
void linnet_g2p_demand_destroy(struct linnet_g2p_demand *demand);

#endif
