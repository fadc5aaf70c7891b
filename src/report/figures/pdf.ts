/** The drawings of `files.ts` as PDF, in which texts stay texts. It knows what Observable Plot writes, and no other SVG. */
import {DOMParser} from 'linkedom'
import PDFDocument from 'pdfkit'

/** CSS pixels are 1/96 inch, points 1/72. */
const POINTS = 72 / 96

/** What an element passes on to those in it. */
interface Paint {
  fill: string
  stroke: string
  fillOpacity: number
  strokeOpacity: number
  strokeWidth: number
  round: boolean
  dash: readonly number[]
  fontSize: number
  anchor: string
}

const START: Paint = {
  ...{fill: 'black', stroke: 'none', fillOpacity: 1, strokeOpacity: 1, strokeWidth: 1},
  ...{round: false, dash: [], fontSize: 10, anchor: 'start'},
}

/** What is read of an element of linkedom. */
interface SvgElement {
  readonly tagName: string
  readonly children: Iterable<SvgElement>
  readonly childNodes: Iterable<{nodeType: number; textContent: string | null}>
  getAttribute(name: string): string | null
}

/** A file that two calls make alike has the same date in each. */
const DATE = new Date(0)

/**
 * A drawing as a PDF of one page, as large as it is.
 *
 * @param svg - as `files.ts` composes it
 * @param font - TrueType; the letters that are used are in the file
 * @param title - of the document
 */
export function pdfOf(
  svg: {text: string; width: number; height: number},
  font: Uint8Array,
  title: string,
): Promise<Uint8Array> {
  const document = new PDFDocument({
    size: [svg.width * POINTS, svg.height * POINTS],
    margin: 0,
    info: {Title: title, CreationDate: DATE},
  })
  document.font(Buffer.from(font))
  const chunks: Uint8Array[] = []
  const whole = new Promise<Uint8Array>((resolve, reject) => {
    document.on('data', (chunk: Uint8Array) => chunks.push(chunk))
    document.on('end', () => resolve(Buffer.concat(chunks)))
    document.on('error', reject)
  })
  document.scale(POINTS)
  const root: SvgElement = new DOMParser().parseFromString(
    svg.text,
    'image/svg+xml',
  ).documentElement
  draw(document, root, START)
  document.end()
  return whole
}

/** Draws an element and what is in it. */
function draw(document: PDFKit.PDFDocument, element: SvgElement, inherited: Paint): void {
  const paint = paintOf(element, inherited)
  document.save()
  move(document, element)
  switch (element.tagName) {
    case 'svg':
    case 'g':
      for (const child of element.children) draw(document, child, paint)
      break
    case 'path':
      document.path(element.getAttribute('d') ?? '')
      finish(document, paint)
      break
    case 'line': {
      const [x1, y1, x2, y2] = numbers(element, ['x1', 'y1', 'x2', 'y2'])
      document.moveTo(x1!, y1!).lineTo(x2!, y2!)
      finish(document, {...paint, fill: 'none'})
      break
    }
    case 'rect': {
      const [x, y, width, height] = numbers(element, ['x', 'y', 'width', 'height'])
      document.rect(x!, y!, width!, height!)
      finish(document, paint)
      break
    }
    case 'circle': {
      const [x, y, r] = numbers(element, ['cx', 'cy', 'r'])
      document.circle(x!, y!, r!)
      finish(document, paint)
      break
    }
    case 'text':
      drawText(document, element, paint)
  }
  document.restore()
}

function numbers(element: SvgElement, names: readonly string[]): number[] {
  return names.map(name => Number(element.getAttribute(name) ?? 0))
}

function paintOf(element: SvgElement, inherited: Paint): Paint {
  const of = (name: string) => element.getAttribute(name)
  const number = (name: string, before: number) => Number(of(name) ?? before)
  const size = of('font-size') ?? /font-size:\s*([\d.]+)px/.exec(of('style') ?? '')?.[1]
  const opacity = number('opacity', 1)
  return {
    fill: of('fill') ?? inherited.fill,
    stroke: of('stroke') ?? inherited.stroke,
    fillOpacity: number('fill-opacity', inherited.fillOpacity) * opacity,
    strokeOpacity: number('stroke-opacity', inherited.strokeOpacity) * opacity,
    strokeWidth: number('stroke-width', inherited.strokeWidth),
    round: (of('stroke-linecap') ?? (inherited.round ? 'round' : '')) === 'round',
    dash:
      of('stroke-dasharray')
        ?.split(/[\s,]+/)
        .map(Number) ?? inherited.dash,
    fontSize: size ? Number.parseFloat(size) : inherited.fontSize,
    anchor: of('text-anchor') ?? inherited.anchor,
  }
}

/** Moves and turns as an element says; one within another by its place. */
function move(document: PDFKit.PDFDocument, element: SvgElement): void {
  if (element.tagName === 'svg') document.translate(0, Number(element.getAttribute('y') ?? 0))
  const transform = element.getAttribute('transform') ?? ''
  for (const [, name, list] of transform.matchAll(/(translate|rotate|scale)\(([^)]*)\)/g)) {
    const [first = 0, second] = list!.split(/[\s,]+/).map(Number)
    if (name === 'translate') document.translate(first, second ?? 0)
    else if (name === 'rotate') document.rotate(first)
    else document.scale(first, second ?? first)
  }
}

/** Fills and strokes the path that was begun. */
function finish(document: PDFKit.PDFDocument, paint: Paint): void {
  const {fill, stroke, strokeWidth, round, dash} = paint
  setColours(document, paint)
  document
    .lineWidth(strokeWidth)
    .lineCap(round ? 'round' : 'butt')
    .lineJoin('round')
  if (dash.length > 0) document.addContent(`[${dash.join(' ')}] 0 d`)
  if (fill !== 'none' && stroke !== 'none') document.fillAndStroke()
  else if (fill !== 'none') document.fill()
  else if (stroke !== 'none') document.stroke()
}

function setColours(document: PDFKit.PDFDocument, paint: Paint): void {
  const {fill, stroke, fillOpacity, strokeOpacity} = paint
  if (fill !== 'none') document.fillColor(colourOf(fill), fillOpacity)
  if (stroke !== 'none') document.strokeColor(colourOf(stroke), strokeOpacity)
}

/** `rgb(1, 2, 3)` as PDFKit takes it, and the colour of text by its value. */
function colourOf(colour: string): PDFKit.Mixins.ColorValue {
  const channels = /^rgb\((\d+),\s*(\d+),\s*(\d+)\)$/.exec(colour)
  if (channels) return [Number(channels[1]), Number(channels[2]), Number(channels[3])]
  return colour === 'currentColor' ? 'black' : colour
}

function drawText(document: PDFKit.PDFDocument, element: SvgElement, paint: Paint): void {
  const lines = [...element.children].filter(({tagName}) => tagName === 'tspan')
  let [x, y] = [0, 0]
  for (const line of lines.length > 0 ? lines : [element]) {
    const of = (name: string) => lengthOf(line.getAttribute(name), paint.fontSize)
    x = of('x') ?? x
    y = (of('y') ?? y) + (of('dy') ?? 0)
    drawLine(document, textOf(line), {x, y}, paint)
  }
}

/** The text of an element without its title. */
function textOf({childNodes}: SvgElement): string {
  const TEXT = 3
  return [...childNodes]
    .flatMap(({nodeType, textContent}) => (nodeType === TEXT ? [textContent ?? ''] : []))
    .join('')
}

function drawLine(
  document: PDFKit.PDFDocument,
  text: string,
  {x, y}: {x: number; y: number},
  paint: Paint,
): void {
  if (text === '') return
  document.fontSize(paint.fontSize)
  const width = document.widthOfString(text)
  const left = {start: x, middle: x - width / 2, end: x - width}[paint.anchor] ?? x
  const options = {lineBreak: false, baseline: 'alphabetic'} as const
  setColours(document, paint)
  if (paint.stroke !== 'none') {
    document.lineWidth(paint.strokeWidth).lineJoin('round')
    document.text(text, left, y, {...options, stroke: true, fill: false})
  }
  document.text(text, left, y, options)
}

/** A length in CSS pixels; `undefined`: none is given. */
function lengthOf(text: string | null, fontSize: number): number | undefined {
  if (text === null) return undefined
  return Number.parseFloat(text) * (text.endsWith('em') ? fontSize : 1)
}
