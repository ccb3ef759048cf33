// The experiment of the PCTWM paper's Figure 6 (thesis §7.5): -DINSERTED=N lets each thread begin with N relaxed
// stores that nobody reads. They change neither what the program does nor its bug's depth, only its number of events.

#pragma once
#include <atomic>

#ifndef INSERTED
#define INSERTED 0
#endif

inline std::atomic<int> ignored{0};

inline void inserted_writes() {
    for (int i = 0; i < INSERTED; i++)
        ignored.store(i, std::memory_order_relaxed);
}
