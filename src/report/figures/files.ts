/** Figures as files for papers: SVG and PDF with their font, and PNG. */
import {readFile} from 'node:fs/promises'
import {createRequire} from 'node:module'
import {heightOf} from './axes.js'
import {drawFigure} from './draw.js'
import {type Figure, type FigureWidth, WIDTHS} from './figure.js'
import {drawLegend, legendEntries} from './legend.js'
import {COLOURS} from './style.js'

/** The font of figures, which is in their files, so that they look and print alike everywhere. */
const FONT_FAMILY = 'Source Sans 3'
const FONT_FILE = '@fontsource/source-sans-3/files/source-sans-3-latin-400-normal.woff2'

/** Letters as large as captions are: 8 pt, in CSS pixels. */
const FONT_SIZE = 10.67
/** Between figure and legend, in letter sizes. */
const GAP = 0.6

interface Drawing {
  svg: string
  width: number
  height: number
}

/** A figure with its legend below it, on its own. @returns a whole SVG file, its font in it */
export async function figureSvg(figure: Figure, width: FigureWidth): Promise<string> {
  return composed(figure, width, await fontSheet()).svg
}

/** The same as PNG on white. @param scale - pixels of the picture for one CSS pixel */
export async function figurePng(
  figure: Figure,
  width: FigureWidth,
  scale = 3,
): Promise<Uint8Array> {
  const {Resvg} = await rasterizer()
  const {decompress} = await import('wawoff2')
  const font = await decompress(await fontFile())
  const image = new Resvg(composed(figure, width, '').svg, {
    background: 'white',
    fitTo: {mode: 'zoom', value: scale},
    font: {fontBuffers: [font], defaultFontFamily: FONT_FAMILY, sansSerifFamily: FONT_FAMILY},
  })
  return image.render().asPng()
}

/** The same as PDF, its texts as text and the letters of its font in it. The same figure gives the same bytes. */
export async function figurePdf(figure: Figure, width: FigureWidth): Promise<Uint8Array> {
  const {pdfOf} = await import('./pdf.js')
  const {decompress} = await import('wawoff2')
  const {svg: text, ...size} = composed(figure, width, '')
  return pdfOf({text, ...size}, await decompress(await fontFile()), figure.title)
}

let started: Promise<typeof import('@resvg/resvg-wasm')> | undefined

/** The rasterizer, which takes its code once. */
export function rasterizer() {
  started ??= (async () => {
    const module = await import('@resvg/resvg-wasm')
    const code = createRequire(import.meta.url).resolve('@resvg/resvg-wasm/index_bg.wasm')
    await module.initWasm(await readFile(code))
    return module
  })()
  return started
}

function composed(figure: Figure, column: FigureWidth, sheet: string): Drawing {
  const width = WIDTHS[column]
  const usual = Math.round(width * (column === 'page' ? 0.55 : 0.75))
  const height = heightOf(figure, {height: usual, fontSize: FONT_SIZE})
  const colour = (place: number) => COLOURS[place]!
  const look = {width, fontSize: FONT_SIZE, colour}
  const chart = drawFigure(figure, {...look, height, paper: 'white', ends: true})
  const entries = figure.shade ? [] : legendEntries(figure)
  // names at the ends of lines leave nothing to explain but pale lines
  const unnamed = entries.filter(({series}) => !chart.named || !series || series.computed)
  const legend = drawLegend(unnamed, look)
  const below = height + GAP * FONT_SIZE
  const whole = Math.ceil(legend.height > 0 ? below + legend.height : height)
  const svg = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${whole}" viewBox="0 0 ${width} ${whole}" font-family="'${FONT_FAMILY}', sans-serif" color="#000000">`,
    sheet === '' ? '' : `<style>${sheet}</style>`,
    placed(chart.svg, 0),
    placed(legend.svg, below),
    '</svg>',
  ]
  return {svg: svg.join('\n'), width, height: whole}
}

/** An `<svg>` element of Plot within another, so far below its top. */
function placed(svg: string, y: number): string {
  return svg
    .replace('<svg ', `<svg y="${y}" overflow="visible" `)
    .replace('font-family="system-ui, sans-serif"', '')
}

/** The font as WOFF 2. */
function fontFile(): Promise<Buffer> {
  return readFile(createRequire(import.meta.url).resolve(FONT_FILE))
}

/** A style sheet that has it in it. */
async function fontSheet(): Promise<string> {
  const data = (await fontFile()).toString('base64')
  return `@font-face { font-family: "${FONT_FAMILY}"; src: url("data:font/woff2;base64,${data}") format("woff2"); }`
}
