import {describe, expect, it} from 'vitest'
import {figurePng, figureSvg} from '../../../../src/report/figures/files.js'
import {FIGURE} from '../../../helpers/figures.js'

describe('files of figures', () => {
  it('are SVG with font, chart and legend in it', async () => {
    const svg = await figureSvg(FIGURE, 'page')
    expect(svg).toMatch(/^<\?xml/)
    expect(svg).toContain('url("data:font/woff2;base64,')
    expect(svg).not.toContain('var(')
    expect(svg).not.toContain('http://www.w3.org/1999/xhtml')
    // once in the title of each marker and of its group's name, and once in the legend
    expect(svg.match(/>rfa iid</g)).toHaveLength(1)
    expect(svg).toContain('width="691"')
    expect(await figureSvg(FIGURE, 'column')).toContain('width="336"')
  })

  it('are PNG of so many pixels, not all of them white', async () => {
    const png = Buffer.from(await figurePng(FIGURE, 'column', 2))
    expect(png.subarray(1, 4).toString()).toBe('PNG')
    expect(png.readUInt32BE(16)).toBe(672)
    // white alone would be packed to next to nothing
    expect(png.length).toBeGreaterThan(10_000)
  })
})
