/** Figures that answer: legends switch series, points show their record to pointers and keys. */
import {neighbour, type Place} from './neighbours.js'

/** Pixels within which a pointer means a point. */
const REACH = 20

interface Point extends Place {
  element: SVGElement
  facts: string
}

/** Makes all figures answer. */
export function livelyFigures(): void {
  for (const figure of document.querySelectorAll('figure')) {
    const tip = figure.querySelector<HTMLElement>('.tip')!
    const drawings = [...figure.querySelectorAll<SVGSVGElement>('.drawing svg')]
    const renewals = drawings.map(svg => livelyDrawing(svg, tip))
    switches(figure, () => {
      for (const renew of renewals) renew()
    })
  }
}

/** Buttons of a legend. @param changed - called when a series came or went */
function switches(figure: HTMLElement, changed: () => void): void {
  for (const button of figure.querySelectorAll<HTMLButtonElement>('.legend button')) {
    button.addEventListener('click', () => {
      const shown = button.getAttribute('aria-pressed') !== 'true'
      button.setAttribute('aria-pressed', String(shown))
      const drawn = button.dataset.series!.split(' ').map(place => `.drawing .series-${place}`)
      for (const part of figure.querySelectorAll(drawn.join())) {
        part.classList.toggle('off', !shown)
      }
      changed()
    })
  }
}

/** Points of one drawing. @returns what is to be called when series came or went */
function livelyDrawing(svg: SVGSVGElement, tip: HTMLElement): () => void {
  const points = pointsOf(svg)
  lawfulLabels(svg)
  const shown = () => points.filter(({element}) => !element.parentElement!.matches('.off'))
  let entry: Point | undefined
  /** The one point that the tab key comes to. */
  const enterAt = (point: Point | undefined) => {
    entry?.element.setAttribute('tabindex', '-1')
    point?.element.setAttribute('tabindex', '0')
    entry = point
  }
  const tell = (point: Point | undefined) => showFacts(point, points, tip)
  const goTo = (point: Point | undefined) => {
    if (!point) return
    enterAt(point)
    point.element.focus({preventScroll: true})
  }
  enterAt(points[0])
  for (const point of points) {
    point.element.addEventListener('focus', () => tell(point))
    point.element.addEventListener('blur', () => tell(undefined))
  }
  svg.addEventListener('keydown', event => {
    if (event.key === 'Escape') return tell(undefined)
    const next = entry && neighbour(event.key, entry, shown())
    if (!next) return
    event.preventDefault()
    goTo(next)
  })
  svg.addEventListener('pointermove', event => tell(nearest(event, shown()) ?? focused(points)))
  svg.addEventListener('pointerleave', () => tell(focused(points)))
  svg.addEventListener('click', event => goTo(nearest(event, shown())))
  return () => {
    tell(undefined)
    if (!entry || entry.element.parentElement!.matches('.off')) enterAt(shown()[0])
  }
}

/** Plot labels its groups and lines, which have no role: lines get one, groups need none. */
function lawfulLabels(svg: SVGSVGElement): void {
  svg.setAttribute('role', 'group')
  for (const element of svg.querySelectorAll('[aria-label]:not([role])')) {
    if (element.matches('path')) element.setAttribute('role', 'img')
    else element.removeAttribute('aria-label')
  }
}

/** Takes their titles from points: browsers would show those, too, and late. */
function pointsOf(svg: SVGSVGElement): Point[] {
  return [...svg.querySelectorAll<SVGElement>('.series > :has(> title)')].map(element => {
    const title = element.querySelector('title')!
    title.remove()
    element.setAttribute('role', 'img')
    element.setAttribute('tabindex', '-1')
    const {x, y, width, height} = (element as SVGGraphicsElement).getBBox()
    const {e = 0, f = 0} =
      (element as SVGGraphicsElement).transform.baseVal.consolidate()?.matrix ?? {}
    const series = /series-(\d+)/.exec(element.parentElement!.getAttribute('class') ?? '')
    return {
      element,
      facts: title.textContent ?? '',
      series: Number(series?.[1]),
      x: x + width / 2 + e,
      y: y + height / 2 + f,
    }
  })
}

/** The point that a pointer means, if any. */
function nearest({clientX, clientY}: MouseEvent, points: readonly Point[]): Point | undefined {
  const svg = points[0]?.element.ownerSVGElement
  const inverse = svg?.getScreenCTM()?.inverse()
  if (!inverse) return undefined
  const {x, y} = new DOMPoint(clientX, clientY).matrixTransform(inverse)
  let [found, least]: [Point | undefined, number] = [undefined, REACH]
  for (const point of points) {
    const distance = Math.hypot(point.x - x, point.y - y)
    if (distance < least) [found, least] = [point, distance]
  }
  return found
}

function focused(points: readonly Point[]): Point | undefined {
  return points.find(({element}) => element === document.activeElement)
}

/** Shows the facts of a point next to it, within the figure; nothing without a point. */
function showFacts(point: Point | undefined, points: readonly Point[], tip: HTMLElement): void {
  for (const {element} of points) element.classList.toggle('told', element === point?.element)
  tip.hidden = point === undefined
  if (!point) return
  tip.textContent = point.facts
  const figure = tip.parentElement!.getBoundingClientRect()
  const at = point.element.getBoundingClientRect()
  const right = figure.width - tip.offsetWidth
  tip.style.left = `${Math.max(0, Math.min(right, at.right - figure.left + 8))}px`
  const above = at.top - figure.top - tip.offsetHeight - 8
  tip.style.top = `${above < 0 ? at.bottom - figure.top + 8 : above}px`
}
