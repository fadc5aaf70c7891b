/** The other backends give what plain JavaScript gives: their fused kernels against the composite of operations. */
import {BACKEND_NAMES, type BackendName, probeBackends, useBackend} from '../../backends/index.js'
import {SMALL} from '../calls/arrays.js'
import {type Call, runCall} from '../calls/call.js'
import {decodeCall} from '../calls/decode.js'
import {callName, callOf, maskedForms, placeOf} from '../calls/forms.js'
import {type BoundedOutput, boundedOutput} from '../calls/output-bound.js'
import {addBounds} from '../calls/rounding.js'
import {Tally} from '../calls/tally.js'
import {type Check, type Finding, notApplicable, type Subject} from '../types.js'
import {changeOf} from './laws.js'
import {recurrentCall} from './recurrence.js'

/** The one that checks run on: its operations are plain loops, its kernels nothing but composites. */
export const JUDGE: BackendName = 'cpu'

interface Case extends BoundedOutput {
  given: Call
  label: string
  run(given: Call): Float32Array
}

/** Each form, masked or not, and the recurrent one, on every backend that runs here. */
async function backends(subject: Subject): Promise<Finding> {
  const reports = await probeBackends()
  const others = BACKEND_NAMES.filter(
    name => name !== JUDGE && reports.some(report => report.name === name && report.available),
  )
  if (others.length === 0)
    return notApplicable('no other backend runs on this machine (rfa doctor)')
  const tally = new Tally(
    'operations that one backend computes in another way: a shape of zero, int32, dataSync in the middle',
  )
  const cases = casesOf(subject)
  try {
    for (const backend of others) {
      await useBackend(backend, {threads: 1})
      for (const one of cases) compareBackend(tally, backend, one)
    }
  } finally {
    await useBackend(JUDGE)
  }
  return tally.finding()
}

/** What is compared, with the outputs of the judge. */
function casesOf(subject: Subject): Case[] {
  const {supports} = subject.estimator
  const out = (given: Call) => runCall(given).out
  const calls = maskedForms(subject).map(form => ({
    given: callOf(subject, SMALL, form),
    run: out,
    what: '',
  }))
  const steps = {given: recurrentCall(subject, 11), run: decodeCall, what: ', token by token'}
  return [...calls, ...(supports.decode ? [steps] : [])].map(({given, run, what}) => {
    const {bound} = boundedOutput(given)
    return {given, run, label: `${callName(given)}${what}`, out: run(given), bound}
  })
}

function compareBackend(
  tally: Tally,
  backend: BackendName,
  {given, label, run, out, bound}: Case,
): void {
  const other = run(given)
  tally.compare({
    label: `${backend}: ${label}`,
    actual: other,
    expected: out,
    bound: addBounds(bound, bound),
    says: at =>
      `${placeOf(at, given.sizes)} is off what ${JUDGE} gives by ${changeOf(out, other, at)}`,
  })
}

export const BACKEND_CHECKS: readonly Check[] = [
  {name: 'backends agree', group: 'backends', run: backends},
]
