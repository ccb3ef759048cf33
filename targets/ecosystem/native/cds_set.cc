// Michael's list and a split-ordered list with hazard pointers.
#include <cassert>
#include <cds/container/michael_kvlist_hp.h>
#include <cds/container/michael_list_hp.h>
#include <cds/container/split_list_set.h>
#include <cds/gc/hp.h>
#include <cds/init.h>
#include <thread>

struct Traits : cds::container::split_list::traits {
    typedef cds::container::michael_list_tag ordered_list;
    typedef std::hash<int> hash;
    struct ordered_list_traits : cds::container::michael_list::traits {
        typedef std::less<int> less;
    };
};

int main() {
    cds::Initialize();
    {
        cds::gc::HP hazards(16, 4);
        cds::threading::Manager::attachThread();
        {
            cds::container::SplitListSet<cds::gc::HP, int, Traits> set(4, 1);
            auto work = [&](int value) {
                cds::threading::Manager::attachThread();
                assert(set.insert(value));
                assert(set.contains(value));
                assert(set.insert(value + 1));
                assert(set.erase(value));
                cds::threading::Manager::detachThread();
            };
            std::thread one(work, 1), two(work, 11);
            one.join();
            two.join();
            assert(!set.contains(1) && set.contains(2) && !set.contains(11) && set.contains(12));
        }
        cds::threading::Manager::detachThread();
    }
    cds::Terminate();
}
