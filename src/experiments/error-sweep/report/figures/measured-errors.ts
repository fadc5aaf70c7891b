import {YARDSTICK} from '../../../averaging.js'
import type {MeasuredError} from '../../../measured.js'
import type {ErrorSweepRecord} from '../../schema.js'
import {placeFacts} from '../groups/places.js'
import {averageError} from './figure-lines.js'

/** Errors against exact attention, without those of averaging V, which each of them has. */
export function measuredErrors(records: readonly ErrorSweepRecord[]): MeasuredError[] {
  return records.flatMap((record): MeasuredError[] => {
    if (record.status !== 'completed') return []
    const {cell, result} = record
    const {median: value, low, high} = result.rel_l2
    if (cell.target !== 'raw' || cell.method === YARDSTICK || value === null) return []
    const place = placeFacts(record).join(', ')
    const sizes = {length: result.query_len, headDim: result.head_dim}
    return [{cell, ...sizes, value, low, high, place, average: averageError(record) ?? null}]
  })
}
