// Cuts a call into items by its shape alone and shares them out. The caller holds a Session.
#pragma once

#include <algorithm>

#include "pool.h"
#include "rfa.h"

namespace rfa {

constexpr Size kItemElements = 16384;  // 64 KiB: well above the cost of taking an item

inline Size ceil_div(Size a, Size b) { return (a + b - 1) / b; }

inline double product(Size a, Size b) { return static_cast<double>(a) * static_cast<double>(b); }

// Rows per item.
inline Size rows_per_item(Size columns) {
  return std::max<Size>(1, kItemElements / std::max<Size>(1, columns));
}

// body(item) for every item.
template <class Body>
void share(Size items, double work, const Body& body) {
  Pool::instance().run(
      items, 0, work,
      [](const void* context, Size item, float*) { (*static_cast<const Body*>(context))(item); },
      &body);
}

// body(first, count) for every stretch of `count` elements, cut at multiples of `step`.
template <class Body>
void share_range(Size count, Size step, double work, const Body& body) {
  share(ceil_div(count, step), work, [&](Size item) {
    const Size first = item * step;
    body(first, std::min(step, count - first));
  });
}

}  // namespace rfa
