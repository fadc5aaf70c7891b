/** Labels right of a frame, where lines end, and rows above it for values beyond the axis. */
import {heightScale, type Margins, margins} from './axes.js'
import {type Figure, type Guide, isBeyond, isUpright, type Series} from './figure.js'

interface EndLabel {
  lines: readonly string[]
  /** Where the line ends and where the label stands, in CSS pixels from the top. */
  from: number
  at: number
  /** `undefined`: it is a guide that ends there. */
  series?: Series
}

/** A series that leaves the axis, with the middle of its row above the frame, in CSS pixels from the top. */
export interface BeyondRow {
  series: Series
  at: number
}

/** What stands around a frame. */
export interface Surroundings {
  margins: Margins
  labels: readonly EndLabel[]
  rows: readonly BeyondRow[]
  /** Whether labels name all measured series, which makes a legend superfluous. */
  named: boolean
}

interface Size {
  width: number
  height: number
  fontSize: number
  /** As {@link margins} takes them. */
  letters: number
}

/** Width of a letter, height of a line, and the marker before a label with the gap to the frame, in letter sizes. */
const [LETTER, LINE] = [0.5, 1.15]
export const BEFORE = 2
/** Height of a row above the frame, in letter sizes. */
const ROW = 1.4
/** Largest share of the width that labels may take. */
const MOST = 0.4

/**
 * Places labels and rows around the frame of a figure.
 *
 * @param wanted - whether series are labelled where they end, if all of their labels fit. Guides are in any case
 */
export function surroundings(figure: Figure, size: Size, wanted: boolean): Surroundings {
  const beyond = figure.series.filter(
    ({points, computed}) => !computed && points.some(({y}) => isBeyond(figure.y, y)),
  )
  const named = wanted && isLabelled(figure)
  const all = placed(figure, size, {beyond, named})
  return all.fits || !named ? all : placed(figure, size, {beyond, named: false})
}

/** Whether all measured series are lines to the right end of the axis. */
function isLabelled({series, shade, x, y}: Figure): boolean {
  if (shade || x.names || y.names) return false
  const measured = series.filter(({computed}) => !computed)
  const end = Math.max(...measured.map(lastPlace))
  return (
    measured.length > 0 &&
    measured.every(own => (own.joined ?? true) && own.points.length > 1 && lastPlace(own) === end)
  )
}

function lastPlace({points}: Series): number {
  return points.at(-1)!.x
}

function placed(
  figure: Figure,
  size: Size,
  {beyond, named}: {beyond: readonly Series[]; named: boolean},
): Surroundings & {fits: boolean} {
  const {width, height, fontSize} = size
  const series = named ? figure.series.filter(({computed}) => !computed) : []
  const guides = figure.guides.filter(guide => endsAtRight(guide, figure))
  const texts = [...series.map(linesOf), ...guides.map(({label}) => [label])]
  const longest = Math.max(0, ...texts.flat().map(({length}) => length))
  const right = longest === 0 ? 0 : (BEFORE + 0.5 + longest * LETTER) * fontSize
  const above = beyond.length * ROW * fontSize
  const around = margins(figure, size, {right, above})
  const yOf = heightScale(figure, {...around, height})
  const rows = beyond.map((own, row) => ({
    series: own,
    at: around.marginTop - (beyond.length - row - 0.5) * ROW * fontSize,
  }))
  const labels = [
    ...series.map(own => {
      const last = own.points.at(-1)!
      const row = isBeyond(figure.y, last.y) && rows.find(({series: other}) => other === own)
      const from = row ? row.at : yOf(last.y)
      return {lines: linesOf(own), from, at: from, series: own, fixed: row !== false}
    }),
    ...guides.map(({label, points}) => {
      const from = yOf(points.at(-1)![1])
      return {lines: [label], from, at: from, fixed: false}
    }),
  ]
  const frame = {top: around.marginTop, bottom: height - around.marginBottom}
  const free = labels.filter(({fixed}) => !fixed)
  const needed = free.reduce((sum, {lines}) => sum + lines.length * LINE * fontSize, 0)
  const fits = right <= MOST * width && needed <= frame.bottom - frame.top + LINE * fontSize
  return {
    ...{margins: around, rows, named, fits},
    labels: [...labels.filter(({fixed}) => fixed), ...apart(free, frame, LINE * fontSize)],
  }
}

/** Whether a guide has its label at the right edge: not upright ones, and those that end before it. */
function endsAtRight({label, points}: Guide, {series}: Figure): boolean {
  if (label === '' || isUpright({points})) return false
  const end = Math.max(...series.flatMap(own => own.points.map(({x}) => x)))
  return points.at(-1)![0] >= end
}

function linesOf({label, note}: Series): string[] {
  return note === undefined ? [label] : [label, note]
}

/**
 * Labels that overlap are moved apart, each group by as little as that takes, and all stay between top and bottom.
 *
 * @param line - height of a line of text
 */
function apart(
  labels: readonly EndLabel[],
  {top, bottom}: {top: number; bottom: number},
  line: number,
): EndLabel[] {
  const groups: {labels: EndLabel[]; middle: number; size: number}[] = []
  for (const label of labels.toSorted((a, b) => a.from - b.from)) {
    let group = {labels: [label], middle: label.from, size: label.lines.length * line}
    const inside = ({middle, size}: {middle: number; size: number}) =>
      Math.max(top + size / 2, Math.min(bottom - size / 2, middle))
    group.middle = inside(group)
    for (let before = groups.at(-1); before; before = groups.at(-1)) {
      if (before.middle + before.size / 2 <= group.middle - group.size / 2) break
      groups.pop()
      const all = [...before.labels, ...group.labels]
      const size = before.size + group.size
      const mean = all.reduce((sum, {from}) => sum + from, 0) / all.length
      group = {labels: all, size, middle: inside({middle: mean, size})}
    }
    groups.push(group)
  }
  return groups.flatMap(group => {
    let at = group.middle - group.size / 2
    return group.labels.map(label => {
      const size = label.lines.length * line
      at += size
      return {...label, at: at - size / 2}
    })
  })
}
