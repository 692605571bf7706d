/* isodepth: how much is one recurrence of a looped language model worth?
 *
 * The public header of libisodepth.  The library returns statuses, never prints and never
 * exits. */
#ifndef ISODEPTH_H
#define ISODEPTH_H

#define ISODEPTH_VERSION "0.1.0"

#endif
