// Queues and a stack with hazard pointers, and Vyukov's bounded queue.
#include <cassert>
#include <cds/container/msqueue.h>
#include <cds/container/treiber_stack.h>
#include <cds/container/vyukov_mpmc_cycle_queue.h>
#include <cds/gc/hp.h>
#include <cds/init.h>
#include <thread>

int main() {
    cds::Initialize();
    {
        cds::gc::HP hazards(4, 4);
        cds::threading::Manager::attachThread();
        {
            cds::container::MSQueue<cds::gc::HP, int> queue;
            cds::container::TreiberStack<cds::gc::HP, int> stack;
            cds::container::VyukovMPMCCycleQueue<int> bounded(4);
            auto produce = [&](int value) {
                cds::threading::Manager::attachThread();
                queue.enqueue(value);
                stack.push(value);
                bounded.enqueue(value);
                cds::threading::Manager::detachThread();
            };
            std::thread one(produce, 1), two(produce, 10);
            int sum = 0, value;
            auto take = [&] {
                bool any = false;
                if (queue.dequeue(value))
                    sum += value, any = true;
                if (stack.pop(value))
                    sum += value, any = true;
                if (bounded.dequeue(value))
                    sum += value, any = true;
                return any;
            };
            take();
            one.join();
            two.join();
            while (take())
                ;
            assert(sum == 33);
        }
        cds::threading::Manager::detachThread();
    }
    cds::Terminate();
}
