/** Where predicted lines cross: from where on another method is predicted to have the least error. */
import type {Point, Series} from '../../../report/figures/figure.js'
import {significant} from '../../../report/numbers.js'
import {heightAt, type LogLine, type LogPlace, passesOne} from '../../../stats/index.js'

/** A place where another line becomes the lowest. */
export interface Turn {
  /** The line that is lowest from there on. */
  line: Series
  point: Point
}

/**
 * Points at which the lowest of several predicted lines changes, on straight lines between their points in log-log axes.
 * Nothing is said beyond the points, between points that lines do not share, or where several change places between two.
 *
 * @param lines - with points in the order of x
 */
export function turningPoints(lines: readonly Series[]): Turn[] {
  const places = lines.map(({points}) => new Set(points.map(({x}) => x)))
  const shared = [...(places[0] ?? [])].filter(x => places.every(own => own.has(x)))
  return shared.slice(1).flatMap((to, at) => {
    const from = shared[at]!
    const [before, after] = [lowestAt(lines, from), lowestAt(lines, to)]
    if (!before || !after || before === after) return []
    const point = crossing([before, after], from, to)
    return isLowest(point, lines, from, to) ? [marked(after, before, point)] : []
  })
}

/** The line that is lowest at a place. */
function lowestAt(lines: readonly Series[], x: number): Series | undefined {
  const [first, second] = lines.toSorted((a, b) => yAt(a, x) - yAt(b, x))
  return first && second && yAt(first, x) < yAt(second, x) ? first : undefined
}

function yAt({points}: Series, x: number): number {
  return points.find(point => point.x === x)!.y
}

/** Where the first of two lines passes from below the other to above it. */
function crossing([one, other]: readonly [Series, Series], from: number, to: number): LogPlace {
  const gap = (x: number) => ({x, y: yAt(other, x) / yAt(one, x)})
  const x = passesOne([gap(from), gap(to)])
  return {x, y: heightAt(between(one, from, to), x)}
}

/** A line from one of its points to another. */
function between(line: Series, from: number, to: number): LogLine {
  return [
    {x: from, y: yAt(line, from)},
    {x: to, y: yAt(line, to)},
  ]
}

/** Whether no third line is lower there. */
function isLowest({x, y}: LogPlace, lines: readonly Series[], from: number, to: number): boolean {
  return lines.every(line => heightAt(between(line, from, to), x) >= y * (1 - 1e-12))
}

function marked(line: Series, before: Series, {x, y}: LogPlace): Turn {
  const [own, other] = [line, before].map(({label}) => label.replace(/, predicted$/, ''))
  const facts = [`${own} overtakes ${other} at ${significant(x)}, by theory`]
  return {line, point: {x, y, facts}}
}
