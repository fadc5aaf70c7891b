/** Figures as a report has them. */
import {table} from '../../src/report/document.js'
import type {Figure} from '../../src/report/figures/figure.js'

const points = [16, 64, 256].map(M => ({
  x: M,
  y: 2 / Math.sqrt(M),
  low: 1.8 / Math.sqrt(M),
  high: 2.2 / Math.sqrt(M),
  facts: [`M = ${M}`],
}))

/** Two measured lines, a computed one and a guide. */
export const FIGURE: Figure = {
  name: 'errors',
  title: 'Title of it',
  caption: 'What it shows.',
  x: {label: 'random vectors M', scale: 'log'},
  y: {label: 'rel L2', scale: 'log'},
  series: [
    {label: 'favor-pos orth', method: 'favor-pos', projection: 'orth', points},
    {label: 'rfa iid', method: 'rfa', projection: 'iid', points: points.slice(1)},
    {
      label: 'favor-pos orth, predicted',
      method: 'favor-pos',
      projection: 'orth',
      points,
      computed: true,
    },
  ],
  guides: [
    {
      label: 'slope -1/2',
      points: [
        [16, 0.4],
        [256, 0.1],
      ],
    },
  ],
  table: table([{title: 'method', cell: (name: string) => name}], ['favor-pos', 'rfa']),
}

/** Tiles of two variants and three heads. */
export const TILES: Figure = {
  ...{name: 'tiles', title: 'Tiles', caption: 'What they show.', guides: []},
  table: FIGURE.table,
  x: {label: 'variant', scale: 'linear', names: ['elu', 'rfa']},
  y: {label: 'head', scale: 'linear', names: ['head 0', 'head 1', 'head 2']},
  shade: {label: 'rel L2', scale: 'log'},
  series: [
    {
      ...{label: '', method: 'elu', projection: null, joined: false},
      points: [
        {x: 0, y: 0, value: 0.012, facts: ['head 0', 'elu']},
        {x: 1, y: 2, value: 0.9, facts: ['head 2', 'rfa']},
      ],
    },
  ],
}
