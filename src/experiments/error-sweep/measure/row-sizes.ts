/** Sizes of the tiles that row metrics go by, and what they hold. */
import type {ForwardShape} from '../../method.js'
import {DISTANCE_BYTES} from './row-distances.js'

/** Entries of one array of a tile: values, weights, exact weights. */
const TILE_ENTRIES = 2 ** 23

/** Bytes of the distances of replicates that go over the tiles together, which share exact weights. */
const GROUP_BYTES = 2 ** 26

/** How many keys make a tile: all of a short input. */
export function tileKeys({batch, heads, queryLen, keyLen}: Omit<ForwardShape, 'valueDim'>): number {
  const fitting = Math.floor(TILE_ENTRIES / (batch * heads * Math.max(queryLen, keyLen)))
  return Math.min(keyLen, Math.max(16, fitting))
}

/** How many replicates go over the tiles together. */
export function groupSize(rows: number, replicates: number): number {
  return Math.max(1, Math.min(replicates, Math.floor(GROUP_BYTES / (rows * DISTANCE_BYTES))))
}

/** How often exact weights are computed for so many replicates: once for a group, and totals of rows before that. */
export function exactPasses({batch, heads, queryLen}: ForwardShape, replicates: number): number {
  return 1 + Math.ceil(replicates / groupSize(batch * heads * queryLen, replicates))
}

/** Bytes of what row metrics hold on the host: exact weights of a tile, totals of rows, distances. */
export function rowMetricBytes(shape: ForwardShape, replicates: number): number {
  const rows = shape.batch * shape.heads * shape.queryLen
  const distances = (groupSize(rows, replicates) + 1) * DISTANCE_BYTES
  return rows * (8 * tileKeys(shape) + 2 * 8 + distances)
}
