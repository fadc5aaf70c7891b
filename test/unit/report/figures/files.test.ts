import {inflateSync} from 'node:zlib'
import {describe, expect, it} from 'vitest'
import {drawFigure} from '../../../../src/report/figures/draw.js'
import {type Figure, figureWithTexts} from '../../../../src/report/figures/figure.js'
import {figurePdf, figurePng, figureSvg} from '../../../../src/report/figures/files.js'
import {drawLegend, legendEntries} from '../../../../src/report/figures/legend.js'
import {FIGURE, TILES} from '../../../helpers/figures.js'
import {expectXml} from '../../../helpers/xml.js'

describe('files of figures', () => {
  it('are SVG with font, chart and legend in it', async () => {
    const svg = await figureSvg(FIGURE, 'page')
    expect(svg).toMatch(/^<\?xml/)
    expect(svg).toContain('url("data:font/woff2;base64,')
    expect(svg).not.toContain('var(')
    expect(svg).not.toContain('http://www.w3.org/1999/xhtml')
    // once where its line ends, and in no legend
    expect(svg.match(/>rfa iid</g)).toHaveLength(1)
    expect(svg).toContain('width="691"')
    expect(await figureSvg(FIGURE, 'column')).toContain('width="336"')
  })

  it.each([
    ['a name of markup', `a&b <c> "d" 'e' ]]> &amp; &nbsp; <!-- -->`],
    ['characters that XML has no place for', 'a\u0000\u001b[31m\ufffe\ud800b'],
    ['other letters', 'Größe ≥ 10\u00a0% 🦆'],
  ])('are XML whatever the names: %s', async (_, name) => {
    for (const plain of [FIGURE, TILES]) {
      const figure: Figure = figureWithTexts(plain, text => `${name} ${text}`)
      const look = {width: 500, fontSize: 10, colour: () => '#000000'}
      await expectXml(await figureSvg(figure, 'page'))
      await expectXml(await figureSvg(figure, 'column'))
      await expectXml(
        drawFigure(figure).svg.replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" '),
      )
      expect(drawLegend(legendEntries(figure), look).svg).not.toMatch(/&(?!(amp|lt|gt|quot|#160);)/)
    }
    const named = figureWithTexts(FIGURE, text => `${name} ${text}`)
    expect((await figurePng(named, 'column', 1)).length).toBeGreaterThan(1000)
  })

  it('are PNG of so many pixels, not all of them white', async () => {
    const png = Buffer.from(await figurePng(FIGURE, 'column', 2))
    expect(png.subarray(1, 4).toString()).toBe('PNG')
    expect(png.readUInt32BE(16)).toBe(672)
    // white alone would be packed to next to nothing
    expect(png.length).toBeGreaterThan(10_000)
  })

  it('are PDF of texts in letters that are in it, the same bytes each time', async () => {
    const page = Buffer.from(await figurePdf(FIGURE, 'page'))
    const text = page.toString('latin1')
    expect(text).toMatch(/^%PDF-1\.\d/)
    // 691 pixels of 1/96 inch in points of 1/72
    expect(text).toMatch(/\/MediaBox \[0 0 518\.25 /)
    expect(text).toContain('/FontFile2')
    const lines = linesOfPdf(page)
    for (const wanted of ['rfa iid', 'rel L2', '128', 'slope -1/2']) expect(lines).toContain(wanted)
    expect(page.equals(await figurePdf(FIGURE, 'page'))).toBe(true)
    expect((await figurePdf(TILES, 'column')).length).toBeGreaterThan(3000)
  })
})

/** The texts of a PDF, each as it was set: glyphs by the map from them to letters that is in the file. */
function linesOfPdf(file: Buffer): string[] {
  const text = file.toString('latin1')
  const streams = [...text.matchAll(/stream\r?\n/g)].flatMap(({index, 0: start}) => {
    try {
      return [inflateSync(file.subarray(index + start.length)).toString('latin1')]
    } catch {
      return []
    }
  })
  const map = streams.find(stream => stream.includes('beginbfrange'))!
  const letters = [...map.matchAll(/\[([^\]]*)\]/g)].flatMap(([, list]) =>
    [...list!.matchAll(/<([^>]*)>/g)].map(([, code]) =>
      Buffer.from(code!.replaceAll(' ', ''), 'hex').swap16().toString('utf16le'),
    ),
  )
  const drawn = streams.find(stream => stream.includes(' TJ'))!
  return [...drawn.matchAll(/\[([^\]]*)\] TJ/g)].map(([, parts]) =>
    [...parts!.matchAll(/<([0-9a-f]*)>/g)]
      .flatMap(([, glyphs]) => glyphs!.match(/.{4}/g) ?? [])
      .map(glyph => letters[Number.parseInt(glyph, 16)])
      .join(''),
  )
}
