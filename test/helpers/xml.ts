/** Whether a drawing is XML, as a parser has it that takes nothing else. */
import {expect} from 'vitest'
import {rasterizer} from '../../src/report/figures/files.js'

/** Fails for a drawing that the rasterizer's parser of XML (roxmltree) refuses. */
export async function expectXml(svg: string): Promise<void> {
  const {Resvg} = await rasterizer()
  expect(() => new Resvg(svg).free(), svg.slice(0, 400)).not.toThrow()
}
