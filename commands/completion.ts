import * as Args from '@oclif/core/args'
import {pluginFlag} from '../src/cli/flags/shared.js'
import type {CompletionDocument} from '../src/cli/program/json-documents.js'
import {helpText, RfaCommand} from '../src/cli/run/base-command.js'

const SHELLS = ['bash', 'zsh', 'fish'] as const

export default class Completion extends RfaCommand {
  static override summary = 'Print a script that has your shell complete commands, flags and names'
  static override description = helpText(
    'Completes commands, flags, and names of methods, projections, presets and backends, in comma lists too. The script stands by itself: the shell starts no program for it. Print it anew after an update.',
    [
      'To have it at every start, write it to a file once:',
      'bash  rfa completion bash > ~/.local/share/bash-completion/completions/rfa',
      'zsh   rfa completion zsh > DIR/_rfa, DIR being a folder of $fpath',
      'fish  rfa completion fish > ~/.config/fish/completions/rfa.fish',
      'Without the package bash-completion: source that file in ~/.bashrc.',
    ].join('\n'),
  )
  static override examples = [
    '<%= config.bin %> completion bash',
    '<%= config.bin %> completion fish',
  ]
  static override args = {
    shell: Args.string({required: true, options: SHELLS, description: 'which shell'}),
  }

  static override flags = {
    plugin: pluginFlag('the script completes the names of its estimators, too'),
  }

  async run() {
    const {args} = await this.parse(Completion)
    const {completionScript, surfaceOf} = await import('../src/cli/completion/index.js')
    const shell = SHELLS.find(name => name === args.shell)!
    const commands = this.config.commands.filter(({hidden}) => !hidden)
    const surfaces = commands.map(async one => surfaceOf(one.id, await one.load()))
    const script = completionScript(shell, this.config.bin, await Promise.all(surfaces))
    this.print(script.trimEnd())
    return {schema: 'rfa.completion/1', shell, script} satisfies CompletionDocument
  }
}
