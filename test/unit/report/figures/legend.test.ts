import {expect, it} from 'vitest'
import {drawLegend} from '../../../../src/report/figures/legend.js'
import {FIGURE} from '../../../helpers/figures.js'

const look = {fontSize: 10, colour: () => '#000000'}

it('has a label of each series, in fewer rows where there is room', () => {
  const wide = drawLegend(FIGURE, {...look, width: 700})
  const narrow = drawLegend(FIGURE, {...look, width: 200})
  for (const {label} of FIGURE.series) {
    expect(wide.svg).toContain(`>${label}<`)
    expect(narrow.svg).toContain(`>${label}<`)
  }
  expect(wide.height).toBe(15)
  expect(narrow.height).toBe(45)
})
