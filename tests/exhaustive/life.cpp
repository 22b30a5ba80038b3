#include "search.hpp"
#include "stand_between.hpp"
#include <boost/test/unit_test.hpp>
#include <iostream>
#include <sstream>
#include <cstdlib>
#include <map>
using namespace quern::test;
BOOST_AUTO_TEST_CASE(try_it)
{
    scene s; s.name="one"; s.faults = s.repeats = s.drains = 0; s.fails = false;
    double secs = 30; int fl = 0; std::size_t depth = 1000;
    std::istringstream in(getenv("S") ? getenv("S") : "");
    std::string w; 
    while (in >> w) { auto c = w.find('='); std::string k = w.substr(0,c); int v = c==w.npos ? 1 : atoi(w.c_str()+c+1);
      std::map<std::string,int*> ints{{"m",&s.messages},{"p",&s.processes},{"faults",&s.faults},{"repeats",&s.repeats},{"drains",&s.drains},{"sleeps",&s.sleeps},{"halves",&s.halves},{"pauses",&s.pauses},{"ahead",&s.reads_ahead},{"flaw",&fl}};
      std::map<std::string,bool*> bools{{"fails",&s.fails},{"rejects",&s.rejects},{"copies",&s.keeps_copies},{"asks",&s.asks},{"longer",&s.asks_longer},{"one",&s.one_at_a_time},{"batch",&s.in_batches},{"old",&s.refuses_old},{"timeout",&s.has_timeout}};
      if (ints.contains(k)) *ints[k]=v; else if (bools.contains(k)) *bools[k]=v; else if (k=="secs") secs=v; else if (k=="depth") depth=v; else std::cout << "?" << k << std::endl; }
    stand_between::planted = flaw(fl);
    auto r = search(s, {depth, secs});
    std::cout << r.states << " states " << r.steps << " steps, depth " << r.depth << (r.closed ? " closed " : " open ") << r.seconds << " s\n";
    if (r.found) { std::cout << to_code(r.found->how) << (r.found->at_last ? " at last" : "") << '\n'; for (auto& b : r.found->broken) std::cout << b << '\n'; for (auto& l : story_of(s, *r.found)) std::cout << l << '\n'; }
    std::cout << stand_between::rows_not_reached().size() << " rows not reached\n";
    if (getenv("R")) for (auto& r : stand_between::rows_not_reached()) std::cout << name_of(r.at) << ' ' << name_of(r.what) << '\n';
}
