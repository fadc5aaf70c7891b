import {describe, expect, it} from 'vitest'
import {paperFigure} from '../../../src/claims/paper-figure.js'

const POINT = {low: null, high: null, quoted: null}
const DRAWN = {
  ...{id: 'lara-mse', title: 'Errors', source: 'a paper', paper: 'its setting', ours: 'ours'},
  ...{x: 'samples', y: 'squared error', notes: []},
  points: [
    {...POINT, series: 'lara, noise', x: 64, y: 0.25, low: 0.2, high: 0.3, quoted: 0.125},
    {...POINT, series: 'lara, noise', x: 4, y: 4},
    {...POINT, series: 'favor-pos orth, scale 1', x: 4, y: null},
    {...POINT, series: 'favor-pos orth, scale 1', x: 64, y: 2},
  ],
}

describe('a figure of a paper', () => {
  it('has our curves in the look of their methods, and what the paper prints as open markers', () => {
    const [figure] = paperFigure(DRAWN)
    expect(figure).toMatchObject({name: 'paper-lara-mse', x: {scale: 'log'}, y: {scale: 'log'}})
    expect(figure!.series).toMatchObject([
      {label: 'lara, noise', method: 'lara', points: [{x: 4}, {x: 64, y: 0.25, low: 0.2}]},
      {label: 'favor-pos orth, scale 1', method: 'favor-pos', projection: 'orth'},
      {label: 'lara, noise, the paper', method: 'lara', open: true, joined: false},
    ])
    expect(figure!.series[1]!.points.map(({x}) => x)).toEqual([64])
    expect(figure!.table.rows[0]).toEqual(['lara, noise', '64', '0.250 [0.200, 0.300]', '0.125'])
  })

  it('is not drawn of points at one place', () => {
    const [first] = DRAWN.points
    expect(paperFigure({...DRAWN, points: [first!]})).toEqual([])
    expect(paperFigure({...DRAWN, points: []})).toEqual([])
  })
})
