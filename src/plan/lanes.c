/* Lanes: see lanes.h. */
#include "plan/lanes.h"

enum { LANE_TOKENS = 512, MOST_LANES = 64, PASS_TOKENS = 256 };

static int64_t sequences_for(int64_t tokens, int64_t seq_len)
{
    return (tokens + seq_len - 1) / seq_len;
}

int64_t iso_lanes_default(int64_t batch, int64_t seq_len)
{
    int64_t lanes = batch / sequences_for(LANE_TOKENS, seq_len);
    return lanes < 1 ? 1 : lanes > MOST_LANES ? MOST_LANES : lanes;
}

int64_t iso_micro_default(int64_t batch, int64_t seq_len, int64_t lanes)
{
    int64_t wanted = sequences_for(PASS_TOKENS, seq_len), most = (batch + lanes - 1) / lanes;
    return wanted < most ? wanted : most;
}

int64_t iso_lane_first(int64_t batch, int64_t lanes, int64_t lane)
{
    return batch * lane / lanes;
}
