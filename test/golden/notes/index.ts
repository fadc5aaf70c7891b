/** Typed requests from a manifest that describes cases in the peers' words. */
import type {CaseArrays, GoldenCase} from '../cases.js'
import type {WrittenRequest} from '../request.js'
import {FEATURES} from './features.js'
import {LANDMARKS} from './landmarks.js'
import {PROJECTIONS} from './projections.js'
import type {Reading} from './read.js'
import {UNIT} from './unit.js'

const softmax: Reading = {
  methods: ['softmax'],
  request: () => ({kind: 'attention', methods: ['softmax', 'softmax-online']}),
}

const READINGS = [softmax, ...FEATURES, ...UNIT, ...LANDMARKS, ...PROJECTIONS]

/** Whether a reading knows the method of a case. */
export function isRead({method}: GoldenCase): boolean {
  return readingOf(method) !== undefined
}

function readingOf(method: string): Reading | undefined {
  return READINGS.find(({methods}) => methods.includes(method))
}

/**
 * What a case asks for by its fields: never by name or shape.
 *
 * @throws Error for a method that no reading knows, and for a note in unknown words
 */
export function requestOfNotes(golden: GoldenCase, arrays: CaseArrays): WrittenRequest {
  const reading = readingOf(golden.method)
  if (!reading) throw new Error(`${golden.name}: no reading of method "${golden.method}"`)
  return reading.request(golden, arrays)
}
