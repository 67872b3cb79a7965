# Completion of cloud for fish. Install: cloud completion fish | source

# Takes the letters of $argv[2] (-yo) up to the first with a value; true when that value is the next word.
function __cloud_letters
    set -l letters (string split '' -- (string sub -s 2 -- $argv[2]))
    for at in (seq (count $letters))
        if __cloud_valued $argv[1] -$letters[$at]
            test $at -eq (count $letters)
            return
        end
    end
    return 1
end

# Finds the command that the words before the cursor name and the number of its arguments among them.
function __cloud_walk
    set -l line (commandline -cp)
    test "$line" = "$__cloud_line"; and return
    set -g __cloud_line $line
    set -g __cloud_place ''
    set -g __cloud_count 0
    set -l pending ''
    set -l ended ''
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        if test -n "$pending"
            set pending ''
        else if test -n "$ended"
            set __cloud_count (math $__cloud_count + 1)
        else if test "$word" = --
            set ended 1
        else if string match -q -- '--*=*' $word
            continue
        else if string match -q -- '--*' $word
            __cloud_valued "$__cloud_place" $word; and set pending 1
        else if string match -q -- '-?*' $word
            __cloud_letters "$__cloud_place" $word; and set pending 1
        else if not __cloud_enter $word
            set __cloud_count (math $__cloud_count + 1)
        end
    end
end

# Whether the words before the cursor name one of these commands.
function __cloud_at
    __cloud_walk
    contains -- "$__cloud_place" $argv
end

# Whether the name of a command below $argv[1] can stand here.
function __cloud_below
    __cloud_at $argv[1]; and test $__cloud_count -eq 0
end

# Whether argument $argv[2] (or a later one, up to $argv[3]) of command $argv[1] stands here.
function __cloud_argument
    __cloud_at $argv[1]; and test $__cloud_count -ge $argv[2] -a $__cloud_count -le $argv[3]
end

# Other names of commands, each after its own: offered when its own does not begin as the word does.
function __cloud_aliases
    set -l typed (commandline -ct)
    test -n "$typed"; or return
    while set -q argv[3]
        string match -q -- "$typed*" $argv[1]; or printf '%s\t%s\n' $argv[2] $argv[3]
        set -e argv[1..3]
    end
end

# What the shell makes of the word at the cursor, without the name of an option before it.
function __cloud_typed
    set -l word (string replace -r -- '^--[^=]*=' '' (commandline -ct))
    for mark in '' "'" '"'
        string unescape -- "$word$mark" 2>/dev/null; and return
    end
end

# What the program knows of a source, with descriptions: it is asked for what begins as typed.
function __cloud_ask
    set -l words (commandline -opc)
    contains -- -- $words; or not string match -q -r -- '^-[^=]*$' (commandline -ct); or return
    set -e words[1]
    command cloud __complete $argv[1] (__cloud_typed | string collect -a) $words 2>/dev/null </dev/null
end

# Paths of the object storage where they are meant or no file begins as typed.
function __cloud_ask_beside_files
    set -l typed (__cloud_typed | string collect -a)
    if not string match -q -r -- '^(stor:|[^/]+/stor:|~~)' $typed
        test $__cloud_count -gt 0 -a -n "$typed"; or return
        set -l files (__fish_complete_path $typed)
        test (count $files) -eq 0; or return
    end
    __cloud_ask path
end

# The folder of profiles and aliases; without HOME, one that cannot exist.
function __cloud_config
    set -l config /dev/null/.config
    test -n "$HOME"; and set config $HOME/.config
    string match -q '/*' -- "$XDG_CONFIG_HOME"; and set config $XDG_CONFIG_HOME
    set config $config/cloud
    string match -q '/*' -- "$CLOUD_HOME"; and set config $CLOUD_HOME/config
    echo $config
end

function __cloud_profiles
    for file in (__cloud_config)/profiles/*.json
        string replace -r '.*/(.*)\.json$' '$1' -- $file
    end
end

function __cloud_ask_aliases
    test -e (__cloud_config)/aliases.json; and __cloud_ask alias
end

# Goes to the command that a word names.
function __cloud_enter
    switch "$__cloud_place/$argv[1]"
        case '/account' '/accounts'
            set __cloud_place 'account'
        case '/keys' '/key'
            set __cloud_place 'keys'
        case '/users' '/user'
            set __cloud_place 'users'
        case '/roles' '/role'
            set __cloud_place 'roles'
        case '/policies' '/policy'
            set __cloud_place 'policies'
        case '/rbac'
            set __cloud_place 'rbac'
        case '/images' '/image'
            set __cloud_place 'images'
        case '/packages' '/package'
            set __cloud_place 'packages'
        case '/datacenters' '/datacenter'
            set __cloud_place 'datacenters'
        case '/services' '/service'
            set __cloud_place 'services'
        case '/stor' '/storage'
            set __cloud_place 'stor'
        case '/mpu' '/uploads'
            set __cloud_place 'mpu'
        case '/jobs' '/job'
            set __cloud_place 'jobs'
        case '/resume'
            set __cloud_place 'resume'
        case '/ping'
            set __cloud_place 'ping'
        case '/api'
            set __cloud_place 'api'
        case '/url'
            set __cloud_place 'url'
        case '/profile' '/profiles'
            set __cloud_place 'profile'
        case '/env'
            set __cloud_place 'env'
        case '/local'
            set __cloud_place 'local'
        case '/server'
            set __cloud_place 'server'
        case '/conformance'
            set __cloud_place 'conformance'
        case '/doctor'
            set __cloud_place 'doctor'
        case '/version'
            set __cloud_place 'version'
        case '/alias' '/aliases'
            set __cloud_place 'alias'
        case '/completion'
            set __cloud_place 'completion'
        case '/help'
            set __cloud_place 'help'
        case 'account/get' 'account/show'
            set __cloud_place 'account get'
        case 'account/update'
            set __cloud_place 'account update'
        case 'account/limits'
            set __cloud_place 'account limits'
        case 'account/config'
            set __cloud_place 'account config'
        case 'account config/get' 'account config/show'
            set __cloud_place 'account config get'
        case 'account config/set'
            set __cloud_place 'account config set'
        case 'keys/list' 'keys/ls'
            set __cloud_place 'keys list'
        case 'keys/get' 'keys/show'
            set __cloud_place 'keys get'
        case 'keys/create' 'keys/add'
            set __cloud_place 'keys create'
        case 'keys/delete' 'keys/rm'
            set __cloud_place 'keys delete'
        case 'keys/rotate'
            set __cloud_place 'keys rotate'
        case 'keys/local'
            set __cloud_place 'keys local'
        case 'users/list' 'users/ls'
            set __cloud_place 'users list'
        case 'users/get' 'users/show'
            set __cloud_place 'users get'
        case 'users/create' 'users/add'
            set __cloud_place 'users create'
        case 'users/update'
            set __cloud_place 'users update'
        case 'users/password'
            set __cloud_place 'users password'
        case 'users/delete' 'users/rm'
            set __cloud_place 'users delete'
        case 'users/keys'
            set __cloud_place 'users keys'
        case 'users keys/list' 'users keys/ls'
            set __cloud_place 'users keys list'
        case 'users keys/get' 'users keys/show'
            set __cloud_place 'users keys get'
        case 'users keys/create' 'users keys/add'
            set __cloud_place 'users keys create'
        case 'users keys/delete' 'users keys/rm'
            set __cloud_place 'users keys delete'
        case 'roles/list' 'roles/ls'
            set __cloud_place 'roles list'
        case 'roles/get' 'roles/show'
            set __cloud_place 'roles get'
        case 'roles/create' 'roles/add'
            set __cloud_place 'roles create'
        case 'roles/update'
            set __cloud_place 'roles update'
        case 'roles/edit'
            set __cloud_place 'roles edit'
        case 'roles/delete' 'roles/rm'
            set __cloud_place 'roles delete'
        case 'roles/tags'
            set __cloud_place 'roles tags'
        case 'roles tags/get' 'roles tags/show'
            set __cloud_place 'roles tags get'
        case 'roles tags/set'
            set __cloud_place 'roles tags set'
        case 'roles tags/add'
            set __cloud_place 'roles tags add'
        case 'roles tags/remove' 'roles tags/rm'
            set __cloud_place 'roles tags remove'
        case 'policies/list' 'policies/ls'
            set __cloud_place 'policies list'
        case 'policies/get' 'policies/show'
            set __cloud_place 'policies get'
        case 'policies/create' 'policies/add'
            set __cloud_place 'policies create'
        case 'policies/update'
            set __cloud_place 'policies update'
        case 'policies/edit'
            set __cloud_place 'policies edit'
        case 'policies/delete' 'policies/rm'
            set __cloud_place 'policies delete'
        case 'policies/check'
            set __cloud_place 'policies check'
        case 'policies/simulate'
            set __cloud_place 'policies simulate'
        case 'policies/who-can'
            set __cloud_place 'policies who-can'
        case 'rbac/export'
            set __cloud_place 'rbac export'
        case 'rbac/diff'
            set __cloud_place 'rbac diff'
        case 'rbac/apply'
            set __cloud_place 'rbac apply'
        case 'rbac/impact'
            set __cloud_place 'rbac impact'
        case 'rbac/graph'
            set __cloud_place 'rbac graph'
        case 'rbac/schema'
            set __cloud_place 'rbac schema'
        case 'images/list' 'images/ls'
            set __cloud_place 'images list'
        case 'images/get' 'images/show'
            set __cloud_place 'images get'
        case 'images/create'
            set __cloud_place 'images create'
        case 'images/import'
            set __cloud_place 'images import'
        case 'images/export'
            set __cloud_place 'images export'
        case 'images/clone'
            set __cloud_place 'images clone'
        case 'images/pipeline'
            set __cloud_place 'images pipeline'
        case 'images/promote'
            set __cloud_place 'images promote'
        case 'images/update'
            set __cloud_place 'images update'
        case 'images/share'
            set __cloud_place 'images share'
        case 'images/unshare'
            set __cloud_place 'images unshare'
        case 'images/tags'
            set __cloud_place 'images tags'
        case 'images/wait'
            set __cloud_place 'images wait'
        case 'images/delete' 'images/rm'
            set __cloud_place 'images delete'
        case 'images tags/get' 'images tags/list' 'images tags/show'
            set __cloud_place 'images tags get'
        case 'images tags/set'
            set __cloud_place 'images tags set'
        case 'images tags/unset' 'images tags/rm' 'images tags/remove'
            set __cloud_place 'images tags unset'
        case 'packages/list' 'packages/ls'
            set __cloud_place 'packages list'
        case 'packages/get' 'packages/show'
            set __cloud_place 'packages get'
        case 'datacenters/list' 'datacenters/ls'
            set __cloud_place 'datacenters list'
        case 'datacenters/get' 'datacenters/show'
            set __cloud_place 'datacenters get'
        case 'services/list' 'services/ls'
            set __cloud_place 'services list'
        case 'services/get' 'services/show'
            set __cloud_place 'services get'
        case 'stor/ls' 'stor/list'
            set __cloud_place 'stor ls'
        case 'stor/find'
            set __cloud_place 'stor find'
        case 'stor/tree'
            set __cloud_place 'stor tree'
        case 'stor/du'
            set __cloud_place 'stor du'
        case 'stor/stat' 'stor/show'
            set __cloud_place 'stor stat'
        case 'stor/cat'
            set __cloud_place 'stor cat'
        case 'stor/get'
            set __cloud_place 'stor get'
        case 'stor/put'
            set __cloud_place 'stor put'
        case 'stor/mkdir'
            set __cloud_place 'stor mkdir'
        case 'stor/rm' 'stor/delete'
            set __cloud_place 'stor rm'
        case 'stor/cp'
            set __cloud_place 'stor cp'
        case 'stor/mv'
            set __cloud_place 'stor mv'
        case 'stor/ln'
            set __cloud_place 'stor ln'
        case 'stor/meta'
            set __cloud_place 'stor meta'
        case 'stor/sync'
            set __cloud_place 'stor sync'
        case 'stor/diff'
            set __cloud_place 'stor diff'
        case 'stor/snapshot' 'stor/snapshots'
            set __cloud_place 'stor snapshot'
        case 'stor/sign'
            set __cloud_place 'stor sign'
        case 'stor/roles'
            set __cloud_place 'stor roles'
        case 'stor/run'
            set __cloud_place 'stor run'
        case 'stor meta/get' 'stor meta/show' 'stor meta/list'
            set __cloud_place 'stor meta get'
        case 'stor meta/set'
            set __cloud_place 'stor meta set'
        case 'stor meta/unset'
            set __cloud_place 'stor meta unset'
        case 'stor meta/replace'
            set __cloud_place 'stor meta replace'
        case 'stor snapshot/create'
            set __cloud_place 'stor snapshot create'
        case 'stor snapshot/list' 'stor snapshot/ls'
            set __cloud_place 'stor snapshot list'
        case 'stor snapshot/diff'
            set __cloud_place 'stor snapshot diff'
        case 'stor snapshot/restore'
            set __cloud_place 'stor snapshot restore'
        case 'stor snapshot/delete' 'stor snapshot/rm'
            set __cloud_place 'stor snapshot delete'
        case 'stor snapshot/prune'
            set __cloud_place 'stor snapshot prune'
        case 'stor roles/get' 'stor roles/show'
            set __cloud_place 'stor roles get'
        case 'stor roles/set'
            set __cloud_place 'stor roles set'
        case 'stor roles/add'
            set __cloud_place 'stor roles add'
        case 'stor roles/remove'
            set __cloud_place 'stor roles remove'
        case 'mpu/create' 'mpu/add'
            set __cloud_place 'mpu create'
        case 'mpu/upload'
            set __cloud_place 'mpu upload'
        case 'mpu/put-part'
            set __cloud_place 'mpu put-part'
        case 'mpu/parts'
            set __cloud_place 'mpu parts'
        case 'mpu/get' 'mpu/show'
            set __cloud_place 'mpu get'
        case 'mpu/commit'
            set __cloud_place 'mpu commit'
        case 'mpu/abort' 'mpu/delete' 'mpu/rm'
            set __cloud_place 'mpu abort'
        case 'mpu/list' 'mpu/ls'
            set __cloud_place 'mpu list'
        case 'jobs/run'
            set __cloud_place 'jobs run'
        case 'jobs/list' 'jobs/ls'
            set __cloud_place 'jobs list'
        case 'jobs/get' 'jobs/show'
            set __cloud_place 'jobs get'
        case 'jobs/create'
            set __cloud_place 'jobs create'
        case 'jobs/add'
            set __cloud_place 'jobs add'
        case 'jobs/end'
            set __cloud_place 'jobs end'
        case 'jobs/cancel'
            set __cloud_place 'jobs cancel'
        case 'jobs/wait'
            set __cloud_place 'jobs wait'
        case 'jobs/watch'
            set __cloud_place 'jobs watch'
        case 'jobs/inputs'
            set __cloud_place 'jobs inputs'
        case 'jobs/outputs'
            set __cloud_place 'jobs outputs'
        case 'jobs/failures'
            set __cloud_place 'jobs failures'
        case 'jobs/errors'
            set __cloud_place 'jobs errors'
        case 'api/call'
            set __cloud_place 'api call'
        case 'api/sign'
            set __cloud_place 'api sign'
        case 'api/*'
            set __cloud_place 'api call'
            return 1
        case 'url/explain'
            set __cloud_place 'url explain'
        case 'profile/list' 'profile/ls'
            set __cloud_place 'profile list'
        case 'profile/get' 'profile/show'
            set __cloud_place 'profile get'
        case 'profile/create' 'profile/add'
            set __cloud_place 'profile create'
        case 'profile/edit'
            set __cloud_place 'profile edit'
        case 'profile/use'
            set __cloud_place 'profile use'
        case 'profile/delete' 'profile/rm'
            set __cloud_place 'profile delete'
        case 'profile/import'
            set __cloud_place 'profile import'
        case 'local/start'
            set __cloud_place 'local start'
        case 'local/stop'
            set __cloud_place 'local stop'
        case 'local/status'
            set __cloud_place 'local status'
        case 'local/run'
            set __cloud_place 'local run'
        case 'local/serve'
            set __cloud_place 'local serve'
        case 'local/try'
            set __cloud_place 'local try'
        case 'local/logs'
            set __cloud_place 'local logs'
        case 'local/seed'
            set __cloud_place 'local seed'
        case 'local/reset'
            set __cloud_place 'local reset'
        case 'local/snapshot'
            set __cloud_place 'local snapshot'
        case 'local/fork'
            set __cloud_place 'local fork'
        case 'local/clock'
            set __cloud_place 'local clock'
        case 'local/faults'
            set __cloud_place 'local faults'
        case 'local/requests'
            set __cloud_place 'local requests'
        case 'local/record'
            set __cloud_place 'local record'
        case 'local snapshot/create'
            set __cloud_place 'local snapshot create'
        case 'local snapshot/list'
            set __cloud_place 'local snapshot list'
        case 'local snapshot/restore'
            set __cloud_place 'local snapshot restore'
        case 'local snapshot/delete'
            set __cloud_place 'local snapshot delete'
        case 'local faults/list'
            set __cloud_place 'local faults list'
        case 'local faults/add'
            set __cloud_place 'local faults add'
        case 'local faults/clear'
            set __cloud_place 'local faults clear'
        case 'server/gateway'
            set __cloud_place 'server gateway'
        case 'server/worker'
            set __cloud_place 'server worker'
        case 'server/migrate'
            set __cloud_place 'server migrate'
        case 'server/collect'
            set __cloud_place 'server collect'
        case 'server/status'
            set __cloud_place 'server status'
        case 'server/audit'
            set __cloud_place 'server audit'
        case 'server/apply'
            set __cloud_place 'server apply'
        case 'server/diff'
            set __cloud_place 'server diff'
        case 'server/import'
            set __cloud_place 'server import'
        case 'server/accounts' 'server/account'
            set __cloud_place 'server accounts'
        case 'server accounts/list' 'server accounts/ls'
            set __cloud_place 'server accounts list'
        case 'server accounts/create'
            set __cloud_place 'server accounts create'
        case 'server accounts/limit'
            set __cloud_place 'server accounts limit'
        case 'server accounts/disable'
            set __cloud_place 'server accounts disable'
        case 'server accounts/enable'
            set __cloud_place 'server accounts enable'
        case 'server accounts/delete' 'server accounts/rm'
            set __cloud_place 'server accounts delete'
        case 'alias/list' 'alias/ls'
            set __cloud_place 'alias list'
        case 'alias/set' 'alias/create' 'alias/add'
            set __cloud_place 'alias set'
        case 'alias/delete' 'alias/rm'
            set __cloud_place 'alias delete'
        case 'completion/bash'
            set __cloud_place 'completion bash'
        case 'completion/zsh'
            set __cloud_place 'completion zsh'
        case 'completion/fish'
            set __cloud_place 'completion fish'
        case 'help/account' 'help/accounts'
            set __cloud_place 'account'
        case 'help/keys' 'help/key'
            set __cloud_place 'keys'
        case 'help/users' 'help/user'
            set __cloud_place 'users'
        case 'help/roles' 'help/role'
            set __cloud_place 'roles'
        case 'help/policies' 'help/policy'
            set __cloud_place 'policies'
        case 'help/rbac'
            set __cloud_place 'rbac'
        case 'help/images' 'help/image'
            set __cloud_place 'images'
        case 'help/packages' 'help/package'
            set __cloud_place 'packages'
        case 'help/datacenters' 'help/datacenter'
            set __cloud_place 'datacenters'
        case 'help/services' 'help/service'
            set __cloud_place 'services'
        case 'help/stor' 'help/storage'
            set __cloud_place 'stor'
        case 'help/mpu' 'help/uploads'
            set __cloud_place 'mpu'
        case 'help/jobs' 'help/job'
            set __cloud_place 'jobs'
        case 'help/resume'
            set __cloud_place 'resume'
        case 'help/ping'
            set __cloud_place 'ping'
        case 'help/api'
            set __cloud_place 'api'
        case 'help/url'
            set __cloud_place 'url'
        case 'help/profile' 'help/profiles'
            set __cloud_place 'profile'
        case 'help/env'
            set __cloud_place 'env'
        case 'help/local'
            set __cloud_place 'local'
        case 'help/server'
            set __cloud_place 'server'
        case 'help/conformance'
            set __cloud_place 'conformance'
        case 'help/doctor'
            set __cloud_place 'doctor'
        case 'help/version'
            set __cloud_place 'version'
        case 'help/alias' 'help/aliases'
            set __cloud_place 'alias'
        case 'help/completion'
            set __cloud_place 'completion'
        case 'help/help'
            set __cloud_place 'help'
        case 'help/signing'
            set __cloud_place 'help topic'
        case 'help/policy-language'
            set __cloud_place 'help topic'
        case 'help/scripting'
            set __cloud_place 'help topic'
        case 'help/job-tools'
            set __cloud_place 'help topic'
        case 'help/local-service'
            set __cloud_place 'help topic'
        case 'help/testing'
            set __cloud_place 'help topic'
        case 'help/cluster'
            set __cloud_place 'help topic'
        case 'help/exit-codes'
            set __cloud_place 'help topic'
        case 'help/files'
            set __cloud_place 'help topic'
        case 'help/options'
            set __cloud_place 'help topic'
        case 'help/transfer'
            set __cloud_place 'help topic'
        case 'help/compare'
            set __cloud_place 'help topic'
        case 'help/filters'
            set __cloud_place 'help topic'
        case 'help/names'
            set __cloud_place 'help topic'
        case 'help/engines'
            set __cloud_place 'help topic'
        case 'help/tasks'
            set __cloud_place 'help topic'
        case '*'
            return 1
    end
    return 0
end

# Whether option $argv[2] of command $argv[1] takes a value.
function __cloud_valued
    switch "$argv[1]/$argv[2]"
        case 'account update/--email'
            return 0
        case 'account update/--company-name'
            return 0
        case 'account update/--first-name'
            return 0
        case 'account update/--last-name'
            return 0
        case 'account update/--address'
            return 0
        case 'account update/--postal-code'
            return 0
        case 'account update/--city'
            return 0
        case 'account update/--state'
            return 0
        case 'account update/--country'
            return 0
        case 'account update/--phone'
            return 0
        case 'account update/--from'
            return 0
        case 'account limits/--dc'
            return 0
        case 'account config set/--default-network'
            return 0
        case 'keys list/--dc'
            return 0
        case 'keys get/--dc'
            return 0
        case 'keys create/--name'
            return 0
        case 'keys create/--attestation'
            return 0
        case 'keys rotate/--name'
            return 0
        case 'keys rotate/--type'
            return 0
        case 'users list/--dc'
            return 0
        case 'users create/--email'
            return 0
        case 'users create/--company-name'
            return 0
        case 'users create/--first-name'
            return 0
        case 'users create/--last-name'
            return 0
        case 'users create/--address'
            return 0
        case 'users create/--postal-code'
            return 0
        case 'users create/--city'
            return 0
        case 'users create/--state'
            return 0
        case 'users create/--country'
            return 0
        case 'users create/--phone'
            return 0
        case 'users create/--from'
            return 0
        case 'users create/--password-file'
            return 0
        case 'users create/--wait-timeout'
            return 0
        case 'users update/--login'
            return 0
        case 'users update/--email'
            return 0
        case 'users update/--company-name'
            return 0
        case 'users update/--first-name'
            return 0
        case 'users update/--last-name'
            return 0
        case 'users update/--address'
            return 0
        case 'users update/--postal-code'
            return 0
        case 'users update/--city'
            return 0
        case 'users update/--state'
            return 0
        case 'users update/--country'
            return 0
        case 'users update/--phone'
            return 0
        case 'users update/--from'
            return 0
        case 'users update/--wait-timeout'
            return 0
        case 'users password/--password-file'
            return 0
        case 'users delete/--wait-timeout'
            return 0
        case 'users keys create/--name'
            return 0
        case 'users keys create/--attestation'
            return 0
        case 'roles list/--dc'
            return 0
        case 'roles get/--dc'
            return 0
        case 'roles create/--member'
            return 0
        case 'roles create/--default-member'
            return 0
        case 'roles create/--policy'
            return 0
        case 'roles create/--from'
            return 0
        case 'roles create/--wait-timeout'
            return 0
        case 'roles update/--name'
            return 0
        case 'roles update/--add-member'
            return 0
        case 'roles update/--add-default-member'
            return 0
        case 'roles update/--remove-member'
            return 0
        case 'roles update/--add-policy'
            return 0
        case 'roles update/--remove-policy'
            return 0
        case 'roles update/--from'
            return 0
        case 'roles update/--wait-timeout'
            return 0
        case 'roles edit/--wait-timeout'
            return 0
        case 'roles delete/--wait-timeout'
            return 0
        case 'policies list/--dc'
            return 0
        case 'policies get/--dc'
            return 0
        case 'policies create/--rule'
            return 0
        case 'policies create/--description'
            return 0
        case 'policies create/--from'
            return 0
        case 'policies create/--wait-timeout'
            return 0
        case 'policies update/--name'
            return 0
        case 'policies update/--description'
            return 0
        case 'policies update/--rule'
            return 0
        case 'policies update/--add-rule'
            return 0
        case 'policies update/--remove-rule'
            return 0
        case 'policies update/--from'
            return 0
        case 'policies update/--wait-timeout'
            return 0
        case 'policies edit/--wait-timeout'
            return 0
        case 'policies delete/--wait-timeout'
            return 0
        case 'policies simulate/--with-role'
            return 0
        case 'policies simulate/--at'
            return 0
        case 'policies simulate/--source'
            return 0
        case 'policies simulate/--datacenter'
            return 0
        case 'policies simulate/--from'
            return 0
        case 'policies simulate/--expect'
            return 0
        case 'policies who-can/--at'
            return 0
        case 'policies who-can/--source'
            return 0
        case 'policies who-can/--datacenter'
            return 0
        case 'policies who-can/--from'
            return 0
        case 'rbac export/--tree'
            return 0
        case 'rbac apply/--wait-timeout'
            return 0
        case 'rbac impact/--delete-role'
            return 0
        case 'rbac impact/--at'
            return 0
        case 'rbac impact/--source'
            return 0
        case 'rbac impact/--datacenter'
            return 0
        case 'rbac graph/-o' 'rbac graph/--output'
            return 0
        case 'images list/--name'
            return 0
        case 'images list/--os'
            return 0
        case 'images list/--version'
            return 0
        case 'images list/--state'
            return 0
        case 'images list/--owner'
            return 0
        case 'images list/--type'
            return 0
        case 'images list/--dc'
            return 0
        case 'images get/--dc'
            return 0
        case 'images create/--description'
            return 0
        case 'images create/--homepage'
            return 0
        case 'images create/--eula'
            return 0
        case 'images create/--tag'
            return 0
        case 'images create/--from'
            return 0
        case 'images create/--acl'
            return 0
        case 'images create/--wait-timeout'
            return 0
        case 'images pipeline/--description'
            return 0
        case 'images pipeline/--homepage'
            return 0
        case 'images pipeline/--eula'
            return 0
        case 'images pipeline/--tag'
            return 0
        case 'images pipeline/--to'
            return 0
        case 'images pipeline/--from'
            return 0
        case 'images pipeline/--path'
            return 0
        case 'images pipeline/--wait-timeout'
            return 0
        case 'images promote/--to'
            return 0
        case 'images promote/--from'
            return 0
        case 'images update/--name'
            return 0
        case 'images update/--version'
            return 0
        case 'images update/--description'
            return 0
        case 'images update/--homepage'
            return 0
        case 'images update/--eula'
            return 0
        case 'images update/--tag'
            return 0
        case 'images update/--from'
            return 0
        case 'images update/--acl'
            return 0
        case 'images wait/--state'
            return 0
        case 'images wait/--wait-timeout'
            return 0
        case 'packages list/--name'
            return 0
        case 'packages list/--version'
            return 0
        case 'packages list/--group'
            return 0
        case 'packages list/--memory'
            return 0
        case 'packages list/--disk'
            return 0
        case 'packages list/--swap'
            return 0
        case 'packages list/--lwps'
            return 0
        case 'packages list/--vcpus'
            return 0
        case 'packages list/--brand'
            return 0
        case 'packages list/--dc'
            return 0
        case 'packages get/--dc'
            return 0
        case 'services list/--dc'
            return 0
        case 'services get/--dc'
            return 0
        case 'stor ls/--paths-from'
            return 0
        case 'stor find/--name'
            return 0
        case 'stor find/--type'
            return 0
        case 'stor find/--size'
            return 0
        case 'stor find/--newer'
            return 0
        case 'stor find/--older'
            return 0
        case 'stor find/--maxdepth'
            return 0
        case 'stor find/--exec'
            return 0
        case 'stor find/--include'
            return 0
        case 'stor find/--exclude'
            return 0
        case 'stor find/--exclude-from'
            return 0
        case 'stor tree/-L' 'stor tree/--maxdepth'
            return 0
        case 'stor du/-d' 'stor du/--depth'
            return 0
        case 'stor du/--include'
            return 0
        case 'stor du/--exclude'
            return 0
        case 'stor du/--exclude-from'
            return 0
        case 'stor stat/--paths-from'
            return 0
        case 'stor cat/--paths-from'
            return 0
        case 'stor cat/--range'
            return 0
        case 'stor cat/--bwlimit'
            return 0
        case 'stor get/--paths-from'
            return 0
        case 'stor get/--include'
            return 0
        case 'stor get/--exclude'
            return 0
        case 'stor get/--exclude-from'
            return 0
        case 'stor get/-P' 'stor get/--parallel'
            return 0
        case 'stor get/--bwlimit'
            return 0
        case 'stor get/--part-size'
            return 0
        case 'stor get/--progress'
            return 0
        case 'stor get/--progress-interval'
            return 0
        case 'stor put/--type'
            return 0
        case 'stor put/-m' 'stor put/--meta'
            return 0
        case 'stor put/--header'
            return 0
        case 'stor put/--copies'
            return 0
        case 'stor put/--if-match'
            return 0
        case 'stor put/--if-modified-since'
            return 0
        case 'stor put/--max-size'
            return 0
        case 'stor put/--links'
            return 0
        case 'stor put/--backup-dir'
            return 0
        case 'stor put/--include'
            return 0
        case 'stor put/--exclude'
            return 0
        case 'stor put/--exclude-from'
            return 0
        case 'stor put/-P' 'stor put/--parallel'
            return 0
        case 'stor put/--bwlimit'
            return 0
        case 'stor put/--part-size'
            return 0
        case 'stor put/--progress'
            return 0
        case 'stor put/--progress-interval'
            return 0
        case 'stor rm/--paths-from'
            return 0
        case 'stor rm/--include'
            return 0
        case 'stor rm/--exclude'
            return 0
        case 'stor rm/--exclude-from'
            return 0
        case 'stor rm/-P' 'stor rm/--parallel'
            return 0
        case 'stor cp/--paths-from'
            return 0
        case 'stor cp/-P' 'stor cp/--parallel'
            return 0
        case 'stor cp/--bwlimit'
            return 0
        case 'stor cp/--part-size'
            return 0
        case 'stor cp/--progress'
            return 0
        case 'stor cp/--progress-interval'
            return 0
        case 'stor cp/--include'
            return 0
        case 'stor cp/--exclude'
            return 0
        case 'stor cp/--exclude-from'
            return 0
        case 'stor cp/--type'
            return 0
        case 'stor mv/--paths-from'
            return 0
        case 'stor mv/-P' 'stor mv/--parallel'
            return 0
        case 'stor mv/--bwlimit'
            return 0
        case 'stor mv/--part-size'
            return 0
        case 'stor mv/--progress'
            return 0
        case 'stor mv/--progress-interval'
            return 0
        case 'stor meta set/--type'
            return 0
        case 'stor meta set/--header'
            return 0
        case 'stor meta replace/--type'
            return 0
        case 'stor meta replace/--header'
            return 0
        case 'stor sync/--max-delete'
            return 0
        case 'stor sync/--plan'
            return 0
        case 'stor sync/--watch-interval'
            return 0
        case 'stor sync/--backup-dir'
            return 0
        case 'stor sync/--links'
            return 0
        case 'stor sync/--include'
            return 0
        case 'stor sync/--exclude'
            return 0
        case 'stor sync/--exclude-from'
            return 0
        case 'stor sync/--copies'
            return 0
        case 'stor sync/-P' 'stor sync/--parallel'
            return 0
        case 'stor sync/--bwlimit'
            return 0
        case 'stor sync/--part-size'
            return 0
        case 'stor sync/--progress'
            return 0
        case 'stor sync/--progress-interval'
            return 0
        case 'stor diff/--links'
            return 0
        case 'stor diff/--include'
            return 0
        case 'stor diff/--exclude'
            return 0
        case 'stor diff/--exclude-from'
            return 0
        case 'stor snapshot create/-P' 'stor snapshot create/--parallel'
            return 0
        case 'stor snapshot create/--bwlimit'
            return 0
        case 'stor snapshot create/--part-size'
            return 0
        case 'stor snapshot create/--progress'
            return 0
        case 'stor snapshot create/--progress-interval'
            return 0
        case 'stor snapshot diff/--include'
            return 0
        case 'stor snapshot diff/--exclude'
            return 0
        case 'stor snapshot diff/--exclude-from'
            return 0
        case 'stor snapshot restore/--to'
            return 0
        case 'stor snapshot restore/--max-delete'
            return 0
        case 'stor snapshot restore/--include'
            return 0
        case 'stor snapshot restore/--exclude'
            return 0
        case 'stor snapshot restore/--exclude-from'
            return 0
        case 'stor snapshot restore/-P' 'stor snapshot restore/--parallel'
            return 0
        case 'stor snapshot restore/--bwlimit'
            return 0
        case 'stor snapshot restore/--part-size'
            return 0
        case 'stor snapshot restore/--progress'
            return 0
        case 'stor snapshot restore/--progress-interval'
            return 0
        case 'stor snapshot delete/-P' 'stor snapshot delete/--parallel'
            return 0
        case 'stor snapshot prune/--keep'
            return 0
        case 'stor snapshot prune/--older'
            return 0
        case 'stor snapshot prune/-P' 'stor snapshot prune/--parallel'
            return 0
        case 'stor sign/--expires'
            return 0
        case 'stor sign/--method'
            return 0
        case 'stor sign/--paths-from'
            return 0
        case 'stor run/--links'
            return 0
        case 'stor run/--copies'
            return 0
        case 'stor run/-P' 'stor run/--parallel'
            return 0
        case 'stor run/--bwlimit'
            return 0
        case 'stor run/--part-size'
            return 0
        case 'stor run/--progress'
            return 0
        case 'stor run/--progress-interval'
            return 0
        case 'mpu create/--type'
            return 0
        case 'mpu create/-m' 'mpu create/--meta'
            return 0
        case 'mpu create/--header'
            return 0
        case 'mpu create/--copies'
            return 0
        case 'mpu upload/--type'
            return 0
        case 'mpu upload/-m' 'mpu upload/--meta'
            return 0
        case 'mpu upload/--header'
            return 0
        case 'mpu upload/--copies'
            return 0
        case 'mpu upload/-P' 'mpu upload/--parallel'
            return 0
        case 'mpu upload/--bwlimit'
            return 0
        case 'mpu upload/--part-size'
            return 0
        case 'mpu upload/--progress'
            return 0
        case 'mpu upload/--progress-interval'
            return 0
        case 'mpu put-part/--bwlimit'
            return 0
        case 'jobs run/--name'
            return 0
        case 'jobs run/--map'
            return 0
        case 'jobs run/--reduce'
            return 0
        case 'jobs run/--count'
            return 0
        case 'jobs run/--asset'
            return 0
        case 'jobs run/--init'
            return 0
        case 'jobs run/--memory'
            return 0
        case 'jobs run/--disk'
            return 0
        case 'jobs run/--from'
            return 0
        case 'jobs run/--wait-timeout'
            return 0
        case 'jobs list/--state'
            return 0
        case 'jobs list/--name'
            return 0
        case 'jobs create/--name'
            return 0
        case 'jobs create/--map'
            return 0
        case 'jobs create/--reduce'
            return 0
        case 'jobs create/--count'
            return 0
        case 'jobs create/--asset'
            return 0
        case 'jobs create/--init'
            return 0
        case 'jobs create/--memory'
            return 0
        case 'jobs create/--disk'
            return 0
        case 'jobs create/--from'
            return 0
        case 'jobs cancel/--wait-timeout'
            return 0
        case 'jobs wait/--wait-timeout'
            return 0
        case 'jobs watch/--wait-timeout'
            return 0
        case 'api/-f' 'api/--field'
            return 0
        case 'api/-F' 'api/--json-field'
            return 0
        case 'api/--input'
            return 0
        case 'api/--header'
            return 0
        case 'api/--service'
            return 0
        case 'api call/-f' 'api call/--field'
            return 0
        case 'api call/-F' 'api call/--json-field'
            return 0
        case 'api call/--input'
            return 0
        case 'api call/--header'
            return 0
        case 'api call/--service'
            return 0
        case 'api sign/--method'
            return 0
        case 'api sign/--expires'
            return 0
        case 'api sign/--service'
            return 0
        case 'url explain/--method'
            return 0
        case 'url explain/--service'
            return 0
        case 'url explain/--compare'
            return 0
        case 'url explain/--expect'
            return 0
        case 'profile create/--stor-key-id'
            return 0
        case 'profile create/--sign-window'
            return 0
        case 'profile create/--default-output'
            return 0
        case 'profile create/--default-columns'
            return 0
        case 'profile create/--default-parallel'
            return 0
        case 'profile edit/--stor-key-id'
            return 0
        case 'profile edit/--sign-window'
            return 0
        case 'profile edit/--default-output'
            return 0
        case 'profile edit/--default-columns'
            return 0
        case 'profile edit/--default-parallel'
            return 0
        case 'profile edit/--unset'
            return 0
        case 'env/--shell'
            return 0
        case 'local start/--data'
            return 0
        case 'local start/--compute-port'
            return 0
        case 'local start/--stor-port'
            return 0
        case 'local start/--host'
            return 0
        case 'local start/--isolation'
            return 0
        case 'local start/--job-slots'
            return 0
        case 'local start/--job-time-limit'
            return 0
        case 'local start/--public-key'
            return 0
        case 'local start/--datacenter'
            return 0
        case 'local start/--peer'
            return 0
        case 'local start/--limit'
            return 0
        case 'local start/--add-account'
            return 0
        case 'local start/--attestation-authority'
            return 0
        case 'local start/--staleness'
            return 0
        case 'local start/--throttle'
            return 0
        case 'local start/--latency'
            return 0
        case 'local start/--fault'
            return 0
        case 'local start/--replay'
            return 0
        case 'local stop/--data'
            return 0
        case 'local status/--data'
            return 0
        case 'local run/--isolation'
            return 0
        case 'local run/--job-slots'
            return 0
        case 'local run/--job-time-limit'
            return 0
        case 'local run/--public-key'
            return 0
        case 'local run/--datacenter'
            return 0
        case 'local run/--peer'
            return 0
        case 'local run/--limit'
            return 0
        case 'local run/--add-account'
            return 0
        case 'local run/--attestation-authority'
            return 0
        case 'local run/--staleness'
            return 0
        case 'local run/--throttle'
            return 0
        case 'local run/--latency'
            return 0
        case 'local run/--fault'
            return 0
        case 'local run/--replay'
            return 0
        case 'local run/--snapshot'
            return 0
        case 'local run/--data'
            return 0
        case 'local run/--fixtures'
            return 0
        case 'local run/--log'
            return 0
        case 'local serve/--data'
            return 0
        case 'local serve/--compute-port'
            return 0
        case 'local serve/--stor-port'
            return 0
        case 'local serve/--host'
            return 0
        case 'local serve/--isolation'
            return 0
        case 'local serve/--job-slots'
            return 0
        case 'local serve/--job-time-limit'
            return 0
        case 'local serve/--public-key'
            return 0
        case 'local serve/--datacenter'
            return 0
        case 'local serve/--peer'
            return 0
        case 'local serve/--limit'
            return 0
        case 'local serve/--add-account'
            return 0
        case 'local serve/--attestation-authority'
            return 0
        case 'local serve/--staleness'
            return 0
        case 'local serve/--throttle'
            return 0
        case 'local serve/--latency'
            return 0
        case 'local serve/--fault'
            return 0
        case 'local serve/--replay'
            return 0
        case 'local logs/--data'
            return 0
        case 'local seed/--data'
            return 0
        case 'local reset/--data'
            return 0
        case 'local snapshot create/--data'
            return 0
        case 'local snapshot list/--data'
            return 0
        case 'local snapshot restore/--data'
            return 0
        case 'local snapshot delete/--data'
            return 0
        case 'local fork/--data'
            return 0
        case 'local fork/--compute-port'
            return 0
        case 'local fork/--stor-port'
            return 0
        case 'local fork/--host'
            return 0
        case 'local fork/--isolation'
            return 0
        case 'local fork/--job-slots'
            return 0
        case 'local fork/--job-time-limit'
            return 0
        case 'local fork/--public-key'
            return 0
        case 'local fork/--datacenter'
            return 0
        case 'local fork/--peer'
            return 0
        case 'local fork/--limit'
            return 0
        case 'local fork/--add-account'
            return 0
        case 'local fork/--attestation-authority'
            return 0
        case 'local fork/--staleness'
            return 0
        case 'local fork/--throttle'
            return 0
        case 'local fork/--latency'
            return 0
        case 'local fork/--fault'
            return 0
        case 'local fork/--snapshot'
            return 0
        case 'local fork/--to'
            return 0
        case 'local clock/--data'
            return 0
        case 'local faults list/--data'
            return 0
        case 'local faults add/--data'
            return 0
        case 'local faults add/--path'
            return 0
        case 'local faults add/--from-account'
            return 0
        case 'local faults add/--count'
            return 0
        case 'local faults add/--rate'
            return 0
        case 'local faults add/--seed'
            return 0
        case 'local faults clear/--data'
            return 0
        case 'local requests/--data'
            return 0
        case 'local record/--body-limit'
            return 0
        case 'server gateway/--database'
            return 0
        case 'server gateway/--database-file'
            return 0
        case 'server gateway/--bytes'
            return 0
        case 'server gateway/--bytes-credentials'
            return 0
        case 'server gateway/--compute-port'
            return 0
        case 'server gateway/--stor-port'
            return 0
        case 'server gateway/--host'
            return 0
        case 'server gateway/--tls-cert'
            return 0
        case 'server gateway/--tls-key'
            return 0
        case 'server gateway/--tls-dir'
            return 0
        case 'server gateway/--admin-port'
            return 0
        case 'server gateway/--admin-host'
            return 0
        case 'server gateway/--public-url'
            return 0
        case 'server gateway/--stor-public-url'
            return 0
        case 'server gateway/--proxy-protocol-from'
            return 0
        case 'server gateway/--drain-wait'
            return 0
        case 'server gateway/--drain-timeout'
            return 0
        case 'server gateway/--datacenter'
            return 0
        case 'server gateway/--limit'
            return 0
        case 'server gateway/--work-dir'
            return 0
        case 'server gateway/--isolation'
            return 0
        case 'server gateway/--job-slots'
            return 0
        case 'server gateway/--job-time-limit'
            return 0
        case 'server gateway/--keep-garbage'
            return 0
        case 'server worker/--database'
            return 0
        case 'server worker/--database-file'
            return 0
        case 'server worker/--bytes'
            return 0
        case 'server worker/--bytes-credentials'
            return 0
        case 'server worker/--work-dir'
            return 0
        case 'server worker/--slots'
            return 0
        case 'server worker/--account-tasks'
            return 0
        case 'server worker/--limit'
            return 0
        case 'server worker/--isolation'
            return 0
        case 'server worker/--time-limit'
            return 0
        case 'server worker/--admin-port'
            return 0
        case 'server worker/--admin-host'
            return 0
        case 'server worker/--drain-timeout'
            return 0
        case 'server worker/--stor-public-url'
            return 0
        case 'server migrate/--database'
            return 0
        case 'server migrate/--database-file'
            return 0
        case 'server collect/--database'
            return 0
        case 'server collect/--database-file'
            return 0
        case 'server collect/--bytes'
            return 0
        case 'server collect/--bytes-credentials'
            return 0
        case 'server collect/--keep-garbage'
            return 0
        case 'server status/--database'
            return 0
        case 'server status/--database-file'
            return 0
        case 'server status/--watch-interval'
            return 0
        case 'server audit/--database'
            return 0
        case 'server audit/--database-file'
            return 0
        case 'server audit/--account'
            return 0
        case 'server audit/--since'
            return 0
        case 'server apply/--database'
            return 0
        case 'server apply/--database-file'
            return 0
        case 'server apply/--bytes'
            return 0
        case 'server apply/--bytes-credentials'
            return 0
        case 'server diff/--database'
            return 0
        case 'server diff/--database-file'
            return 0
        case 'server import/--database'
            return 0
        case 'server import/--database-file'
            return 0
        case 'server import/--bytes'
            return 0
        case 'server import/--bytes-credentials'
            return 0
        case 'server import/--from'
            return 0
        case 'server accounts list/--database'
            return 0
        case 'server accounts list/--database-file'
            return 0
        case 'server accounts create/--database'
            return 0
        case 'server accounts create/--database-file'
            return 0
        case 'server accounts create/--email'
            return 0
        case 'server accounts create/--public-key'
            return 0
        case 'server accounts limit/--database'
            return 0
        case 'server accounts limit/--database-file'
            return 0
        case 'server accounts limit/--bytes'
            return 0
        case 'server accounts limit/--objects'
            return 0
        case 'server accounts limit/--requests'
            return 0
        case 'server accounts disable/--database'
            return 0
        case 'server accounts disable/--database-file'
            return 0
        case 'server accounts enable/--database'
            return 0
        case 'server accounts enable/--database-file'
            return 0
        case 'server accounts delete/--database'
            return 0
        case 'server accounts delete/--database-file'
            return 0
        case 'conformance/--area'
            return 0
        case 'conformance/--check'
            return 0
        case 'conformance/--machine'
            return 0
        case 'conformance/--import-image'
            return 0
        case '*/-o' '*/--output' '*/--jq' '*/--columns' '*/--sort' '*/--color' '*/--profile' '*/--account' '*/--user' '*/--role' '*/--key-id' '*/--key-file' '*/--url' '*/--stor-url' '*/--api-version' '*/--ca' '*/--timeout' '*/--max-time' '*/--retries' '*/--max-requests-per-second'
            return 0
        case '*'
            return 1
    end
    return 0
end

complete -c cloud -e
complete -c cloud -f
complete -c cloud -n 'not __cloud_at \'rbac graph\'' -s o -l output -x -a 'table json jsonl yaml csv tsv name' -d 'Output format'
complete -c cloud -s j -l json -d 'Same as --output json'
complete -c cloud -l jq -x -d 'Filter JSON output with a jq expression; strings print without quotes; -o jsonl filters each record'
complete -c cloud -l columns -x -a '(__cloud_ask field-list)' -d 'Fields to show: a,b,c or all'
complete -c cloud -l sort -x -a '(__cloud_ask field-list)' -d 'Fields to sort by: a,-b'
complete -c cloud -s H -l no-header -d 'Omit the header line'
complete -c cloud -s l -l long -d 'Show more columns, and times and sizes in full'
complete -c cloud -l color -x -a 'auto always never' -d 'When to use colour'
complete -c cloud -l no-input -d 'Never prompt; fail if input is needed'
complete -c cloud -l no-pager -d 'Do not pipe long tables to $PAGER'
complete -c cloud -s q -l quiet -d 'Write only errors to stderr'
complete -c cloud -s v -l verbose -d 'Show each request and response; -vv adds headers and bodies'
complete -c cloud -l curl -d 'Print the first request as a curl command instead of sending it'
complete -c cloud -l profile -x -a '(__cloud_profiles)' -d 'Profile to use instead of the current one'
complete -c cloud -l account -x -d 'Account to act on; the account of the profile signs the requests'
complete -c cloud -l user -x -a '(__cloud_ask user)' -d 'Sign as this sub-user of the account'
complete -c cloud -l role -x -a '(__cloud_ask role-list)' -d 'Roles to assume instead of the default roles'
complete -c cloud -l key-id -x -d 'Key to sign with, by its MD5 or SHA256 fingerprint'
complete -c cloud -l key-file -r -F -d 'Private key to sign with'
complete -c cloud -l url -x -d 'Address of the compute service'
complete -c cloud -l stor-url -x -d 'Address of the object storage'
complete -c cloud -l api-version -x -d 'API versions to accept from the compute service'
complete -c cloud -l ca -r -F -d 'Trust the certificate authorities in this PEM file'
complete -c cloud -l insecure -d 'Accept any TLS certificate (insecure)'
complete -c cloud -l timeout -x -d 'Maximum time without data from the service; 0 for no limit'
complete -c cloud -l max-time -x -d 'Maximum time of a whole request; 0 for no limit'
complete -c cloud -l retries -x -d 'Maximum number of retries of a failed request'
complete -c cloud -l max-requests-per-second -x -d 'Maximum number of requests per second'
complete -c cloud -n 'not __cloud_at \'stor ls\' \'stor du\'' -s h -l help -d 'Show help'
complete -c cloud -n '__cloud_at \'stor ls\' \'stor du\'' -l help -d 'Show help'
complete -c cloud -n '__cloud_below \'\'' -a account -d 'The account: address, limits and settings'
complete -c cloud -n '__cloud_below \'\'' -a keys -d 'SSH keys of the account, which sign requests'
complete -c cloud -n '__cloud_below \'\'' -a users -d 'Sub-users of the account'
complete -c cloud -n '__cloud_below \'\'' -a roles -d 'Roles: which members have which policies'
complete -c cloud -n '__cloud_below \'\'' -a policies -d 'Policies: rules for what the members of a role may do'
complete -c cloud -n '__cloud_below \'\'' -a rbac -d 'Access control of the account as one document'
complete -c cloud -n '__cloud_below \'\'' -a images -d 'Images: templates of instances'
complete -c cloud -n '__cloud_below \'\'' -a packages -d 'Packages: sizes of instances'
complete -c cloud -n '__cloud_below \'\'' -a datacenters -d 'Datacenters of the cloud'
complete -c cloud -n '__cloud_below \'\'' -a services -d 'Services of the cloud and their addresses'
complete -c cloud -n '__cloud_below \'\'' -a stor -d 'Directories and objects of the object storage'
complete -c cloud -n '__cloud_below \'\'' -a mpu -d 'Multipart uploads: large objects in parts'
complete -c cloud -n '__cloud_below \'\'' -a jobs -d 'Compute jobs: shell commands that run on stored objects'
complete -c cloud -n '__cloud_below \'\'' -a resume -d 'Interrupted work: list, continue or clean up'
complete -c cloud -n '__cloud_below \'\'' -a ping -d 'Check that both services respond, with version, clock and latency'
complete -c cloud -n '__cloud_below \'\'' -a api -d 'Send any request, signed'
complete -c cloud -n '__cloud_below \'\'' -a url -d 'Signed URLs: what they grant, until when, and why one fails'
complete -c cloud -n '__cloud_below \'\'' -a profile -d 'Profiles: which cloud, which account, which key'
complete -c cloud -n '__cloud_below \'\'' -a env -d 'Print a profile as shell exports'
complete -c cloud -n '__cloud_below \'\'' -a local -d 'Run both services on this machine, for trials and tests'
complete -c cloud -n '__cloud_below \'\'' -a server -d 'Run the services on PostgreSQL, for a team'
complete -c cloud -n '__cloud_below \'\'' -a conformance -d 'Check whether a cloud conforms to the specification'
complete -c cloud -n '__cloud_below \'\'' -a doctor -d 'Check program, machine, profile, keys, agent, TLS, clock and both services'
complete -c cloud -n '__cloud_below \'\'' -a version -d 'Show version, commit, Node.js, system and install path'
complete -c cloud -n '__cloud_below \'\'' -a alias -d 'Aliases: your own names for command lines'
complete -c cloud -n '__cloud_below \'\'' -a completion -d 'Completion for bash, zsh and fish'
complete -c cloud -n '__cloud_below \'\'' -a help -d 'Help for a command: cloud help images list'
complete -c cloud -n '__cloud_below \'\'' -a '(__cloud_aliases account accounts \'The account: address, limits and settings\' keys key \'SSH keys of the account, which sign requests\' users user \'Sub-users of the account\' roles role \'Roles: which members have which policies\' policies policy \'Policies: rules for what the members of a role may do\' images image \'Images: templates of instances\' packages package \'Packages: sizes of instances\' datacenters datacenter \'Datacenters of the cloud\' services service \'Services of the cloud and their addresses\' stor storage \'Directories and objects of the object storage\' mpu uploads \'Multipart uploads: large objects in parts\' jobs job \'Compute jobs: shell commands that run on stored objects\' profile profiles \'Profiles: which cloud, which account, which key\' alias aliases \'Aliases: your own names for command lines\')'
complete -c cloud -n '__cloud_at \'\'' -l version -d 'Show the version'
complete -c cloud -n '__cloud_argument \'\' 0 0' -a '(__cloud_ask_aliases)'
complete -c cloud -n '__cloud_below \'account\'' -a get -d 'Show the account'
complete -c cloud -n '__cloud_below \'account\'' -a update -d 'Change fields of the account'
complete -c cloud -n '__cloud_below \'account\'' -a limits -d 'List the provisioning limits'
complete -c cloud -n '__cloud_below \'account\'' -a config -d 'Settings of the account'
complete -c cloud -n '__cloud_below \'account\'' -a '(__cloud_aliases get show \'Show the account\')'
complete -c cloud -n '__cloud_at \'account update\'' -l email -x -d 'E-mail address; an empty string clears the field'
complete -c cloud -n '__cloud_at \'account update\'' -l company-name -x -d 'Company; an empty string clears the field'
complete -c cloud -n '__cloud_at \'account update\'' -l first-name -x -d 'First name; an empty string clears the field'
complete -c cloud -n '__cloud_at \'account update\'' -l last-name -x -d 'Last name; an empty string clears the field'
complete -c cloud -n '__cloud_at \'account update\'' -l address -x -d 'Street address; an empty string clears the field'
complete -c cloud -n '__cloud_at \'account update\'' -l postal-code -x -d 'Postal code; an empty string clears the field'
complete -c cloud -n '__cloud_at \'account update\'' -l city -x -d 'City; an empty string clears the field'
complete -c cloud -n '__cloud_at \'account update\'' -l state -x -d 'State or province; an empty string clears the field'
complete -c cloud -n '__cloud_at \'account update\'' -l country -x -d 'Country; an empty string clears the field'
complete -c cloud -n '__cloud_at \'account update\'' -l phone -x -d 'Phone number; an empty string clears the field'
complete -c cloud -n '__cloud_at \'account update\'' -l cns -d 'Whether the name service is enabled'
complete -c cloud -n '__cloud_at \'account update\'' -l no-cns -d 'Whether the name service is enabled'
complete -c cloud -n '__cloud_at \'account update\'' -l from -r -F -d 'JSON or YAML file with fields; - for stdin; options take precedence'
complete -c cloud -n '__cloud_at \'account limits\'' -l dc -x -a '(__cloud_ask datacenter)' -d 'Datacenters to query: names, or all; adds a DC column'
complete -c cloud -n '__cloud_below \'account config\'' -a get -d 'Show the settings of the account'
complete -c cloud -n '__cloud_below \'account config\'' -a set -d 'Change the settings of the account'
complete -c cloud -n '__cloud_below \'account config\'' -a '(__cloud_aliases get show \'Show the settings of the account\')'
complete -c cloud -n '__cloud_at \'account config set\'' -l default-network -x -d 'Network for containers'
complete -c cloud -n '__cloud_below \'keys\'' -a list -d 'List the SSH keys of the account'
complete -c cloud -n '__cloud_below \'keys\'' -a get -d 'Show a key'
complete -c cloud -n '__cloud_below \'keys\'' -a create -d 'Register an SSH public key'
complete -c cloud -n '__cloud_below \'keys\'' -a delete -d 'Remove SSH keys from the account'
complete -c cloud -n '__cloud_below \'keys\'' -a rotate -d 'Replace the key of the profile with a new one'
complete -c cloud -n '__cloud_below \'keys\'' -a local -d 'List the keys of this machine and which of them are registered'
complete -c cloud -n '__cloud_below \'keys\'' -a '(__cloud_aliases list ls \'List the SSH keys of the account\' get show \'Show a key\' create add \'Register an SSH public key\' delete rm \'Remove SSH keys from the account\')'
complete -c cloud -n '__cloud_at \'keys list\'' -l dc -x -a '(__cloud_ask datacenter)' -d 'Datacenters to query: names, or all; adds a DC column'
complete -c cloud -n '__cloud_at \'keys get\'' -l dc -x -a '(__cloud_ask datacenter)' -d 'Datacenters to query: names, or all; adds a DC column'
complete -c cloud -n '__cloud_argument \'keys get\' 0 100000' -a '(__cloud_ask key)'
complete -c cloud -n '__cloud_at \'keys create\'' -l name -x -d 'Name; default: the fingerprint'
complete -c cloud -n '__cloud_at \'keys create\'' -l attestation -r -F -d 'Attestation certificate, PEM'
complete -c cloud -n '__cloud_argument \'keys create\' 0 0' -F
complete -c cloud -n '__cloud_at \'keys delete\'' -s y -l yes -d 'Do not ask for confirmation'
complete -c cloud -n '__cloud_at \'keys delete\'' -s n -l dry-run -d 'Only show what would be deleted'
complete -c cloud -n '__cloud_argument \'keys delete\' 0 100000' -a '(__cloud_ask key)'
complete -c cloud -n '__cloud_at \'keys rotate\'' -s y -l yes -d 'Remove the old key from the account without asking'
complete -c cloud -n '__cloud_at \'keys rotate\'' -s n -l dry-run -d 'Only show what would be done'
complete -c cloud -n '__cloud_at \'keys rotate\'' -l name -x -d 'Name of the new key; default cloud-PROFILE-DATE'
complete -c cloud -n '__cloud_at \'keys rotate\'' -l type -x -a 'rsa ecdsa' -d 'Type of the new key; default that of the old one'
complete -c cloud -n '__cloud_at \'keys rotate\'' -l encrypt -d 'Encrypt the new key with a passphrase; by default as the old key'
complete -c cloud -n '__cloud_at \'keys rotate\'' -l no-encrypt -d 'Encrypt the new key with a passphrase; by default as the old key'
complete -c cloud -n '__cloud_below \'users\'' -a list -d 'List the sub-users'
complete -c cloud -n '__cloud_below \'users\'' -a get -d 'Show a sub-user'
complete -c cloud -n '__cloud_below \'users\'' -a create -d 'Create a sub-user'
complete -c cloud -n '__cloud_below \'users\'' -a update -d 'Change fields of a sub-user'
complete -c cloud -n '__cloud_below \'users\'' -a password -d 'Change the password of a sub-user'
complete -c cloud -n '__cloud_below \'users\'' -a delete -d 'Delete sub-users with their keys and memberships'
complete -c cloud -n '__cloud_below \'users\'' -a keys -d 'SSH keys of a sub-user, which sign its requests'
complete -c cloud -n '__cloud_below \'users\'' -a '(__cloud_aliases list ls \'List the sub-users\' get show \'Show a sub-user\' create add \'Create a sub-user\' delete rm \'Delete sub-users with their keys and memberships\')'
complete -c cloud -n '__cloud_at \'users list\'' -l dc -x -a '(__cloud_ask datacenter)' -d 'Datacenters to query: names, or all; adds a DC column'
complete -c cloud -n '__cloud_at \'users get\'' -l membership -d 'Include the roles of the user, and those active by default'
complete -c cloud -n '__cloud_argument \'users get\' 0 0' -a '(__cloud_ask user)'
complete -c cloud -n '__cloud_at \'users create\'' -l email -x -d 'E-mail address; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users create\'' -l company-name -x -d 'Company; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users create\'' -l first-name -x -d 'First name; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users create\'' -l last-name -x -d 'Last name; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users create\'' -l address -x -d 'Street address; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users create\'' -l postal-code -x -d 'Postal code; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users create\'' -l city -x -d 'City; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users create\'' -l state -x -d 'State or province; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users create\'' -l country -x -d 'Country; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users create\'' -l phone -x -d 'Phone number; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users create\'' -l from -r -F -d 'JSON or YAML file with fields; - for stdin; options take precedence'
complete -c cloud -n '__cloud_at \'users create\'' -l password-stdin -d 'Read the password from stdin'
complete -c cloud -n '__cloud_at \'users create\'' -l password-file -r -F -d 'Read the password from a file'
complete -c cloud -n '__cloud_at \'users create\'' -l wait -d 'Wait until reads show the change'
complete -c cloud -n '__cloud_at \'users create\'' -l wait-timeout -x -d 'Maximum time to wait; default 60s'
complete -c cloud -n '__cloud_at \'users update\'' -l login -x -d 'New login'
complete -c cloud -n '__cloud_at \'users update\'' -l email -x -d 'E-mail address; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users update\'' -l company-name -x -d 'Company; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users update\'' -l first-name -x -d 'First name; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users update\'' -l last-name -x -d 'Last name; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users update\'' -l address -x -d 'Street address; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users update\'' -l postal-code -x -d 'Postal code; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users update\'' -l city -x -d 'City; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users update\'' -l state -x -d 'State or province; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users update\'' -l country -x -d 'Country; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users update\'' -l phone -x -d 'Phone number; an empty string clears the field'
complete -c cloud -n '__cloud_at \'users update\'' -l from -r -F -d 'JSON or YAML file with fields; - for stdin; options take precedence'
complete -c cloud -n '__cloud_at \'users update\'' -l wait -d 'Wait until reads show the change'
complete -c cloud -n '__cloud_at \'users update\'' -l wait-timeout -x -d 'Maximum time to wait; default 60s'
complete -c cloud -n '__cloud_argument \'users update\' 0 0' -a '(__cloud_ask user)'
complete -c cloud -n '__cloud_at \'users password\'' -l password-stdin -d 'Read the password from stdin'
complete -c cloud -n '__cloud_at \'users password\'' -l password-file -r -F -d 'Read the password from a file'
complete -c cloud -n '__cloud_argument \'users password\' 0 0' -a '(__cloud_ask user)'
complete -c cloud -n '__cloud_at \'users delete\'' -s y -l yes -d 'Do not ask for confirmation'
complete -c cloud -n '__cloud_at \'users delete\'' -s n -l dry-run -d 'Only show what would be deleted'
complete -c cloud -n '__cloud_at \'users delete\'' -l wait -d 'Wait until reads show the change'
complete -c cloud -n '__cloud_at \'users delete\'' -l wait-timeout -x -d 'Maximum time to wait; default 60s'
complete -c cloud -n '__cloud_argument \'users delete\' 0 100000' -a '(__cloud_ask user)'
complete -c cloud -n '__cloud_below \'users keys\'' -a list -d 'List the SSH keys of a sub-user'
complete -c cloud -n '__cloud_below \'users keys\'' -a get -d 'Show a key of a sub-user'
complete -c cloud -n '__cloud_below \'users keys\'' -a create -d 'Register a public SSH key for a sub-user'
complete -c cloud -n '__cloud_below \'users keys\'' -a delete -d 'Remove SSH keys from a sub-user'
complete -c cloud -n '__cloud_below \'users keys\'' -a '(__cloud_aliases list ls \'List the SSH keys of a sub-user\' get show \'Show a key of a sub-user\' create add \'Register a public SSH key for a sub-user\' delete rm \'Remove SSH keys from a sub-user\')'
complete -c cloud -n '__cloud_argument \'users keys list\' 0 0' -a '(__cloud_ask user)'
complete -c cloud -n '__cloud_argument \'users keys get\' 0 0' -a '(__cloud_ask user)'
complete -c cloud -n '__cloud_argument \'users keys get\' 1 1' -a '(__cloud_ask user-key)'
complete -c cloud -n '__cloud_at \'users keys create\'' -l name -x -d 'Name; default: the fingerprint'
complete -c cloud -n '__cloud_at \'users keys create\'' -l attestation -r -F -d 'Attestation certificate, PEM'
complete -c cloud -n '__cloud_argument \'users keys create\' 0 0' -a '(__cloud_ask user)'
complete -c cloud -n '__cloud_argument \'users keys create\' 1 1' -F
complete -c cloud -n '__cloud_at \'users keys delete\'' -s y -l yes -d 'Do not ask for confirmation'
complete -c cloud -n '__cloud_at \'users keys delete\'' -s n -l dry-run -d 'Only show what would be deleted'
complete -c cloud -n '__cloud_argument \'users keys delete\' 0 0' -a '(__cloud_ask user)'
complete -c cloud -n '__cloud_argument \'users keys delete\' 1 100000' -a '(__cloud_ask user-key)'
complete -c cloud -n '__cloud_below \'roles\'' -a list -d 'List the roles'
complete -c cloud -n '__cloud_below \'roles\'' -a get -d 'Show a role'
complete -c cloud -n '__cloud_below \'roles\'' -a create -d 'Create a role'
complete -c cloud -n '__cloud_below \'roles\'' -a update -d 'Change a role'
complete -c cloud -n '__cloud_below \'roles\'' -a edit -d 'Edit a role in your editor'
complete -c cloud -n '__cloud_below \'roles\'' -a delete -d 'Delete roles'
complete -c cloud -n '__cloud_below \'roles\'' -a tags -d 'Role tags: the resources that the members of a role may use'
complete -c cloud -n '__cloud_below \'roles\'' -a '(__cloud_aliases list ls \'List the roles\' get show \'Show a role\' create add \'Create a role\' delete rm \'Delete roles\')'
complete -c cloud -n '__cloud_at \'roles list\'' -l dc -x -a '(__cloud_ask datacenter)' -d 'Datacenters to query: names, or all; adds a DC column'
complete -c cloud -n '__cloud_at \'roles get\'' -l dc -x -a '(__cloud_ask datacenter)' -d 'Datacenters to query: names, or all; adds a DC column'
complete -c cloud -n '__cloud_argument \'roles get\' 0 100000' -a '(__cloud_ask role)'
complete -c cloud -n '__cloud_at \'roles create\'' -l member -x -a '(__cloud_ask user)' -d 'Member who may request the role: login or id of a sub-user, or account:LOGIN for another account'
complete -c cloud -n '__cloud_at \'roles create\'' -l default-member -x -a '(__cloud_ask user)' -d 'Member with the role active by default: login or id of a sub-user, or account:LOGIN for another account'
complete -c cloud -n '__cloud_at \'roles create\'' -l policy -x -a '(__cloud_ask policy)' -d 'Policy of the role, by name or id'
complete -c cloud -n '__cloud_at \'roles create\'' -l from -r -F -d 'JSON or YAML file with name, members and policies; - for stdin; options take precedence'
complete -c cloud -n '__cloud_at \'roles create\'' -l wait -d 'Wait until reads show the change'
complete -c cloud -n '__cloud_at \'roles create\'' -l wait-timeout -x -d 'Maximum time to wait; default 60s'
complete -c cloud -n '__cloud_at \'roles update\'' -l name -x -d 'New name'
complete -c cloud -n '__cloud_at \'roles update\'' -l add-member -x -a '(__cloud_ask user)' -d 'Add a member who may request the role: login or id of a sub-user, or account:LOGIN for another account'
complete -c cloud -n '__cloud_at \'roles update\'' -l add-default-member -x -a '(__cloud_ask user)' -d 'Add a member with the role active by default: login or id of a sub-user, or account:LOGIN for another account'
complete -c cloud -n '__cloud_at \'roles update\'' -l remove-member -x -a '(__cloud_ask user)' -d 'Member to remove'
complete -c cloud -n '__cloud_at \'roles update\'' -l add-policy -x -a '(__cloud_ask policy)' -d 'Policy to add, by name or id'
complete -c cloud -n '__cloud_at \'roles update\'' -l remove-policy -x -a '(__cloud_ask policy)' -d 'Policy to remove, by name or id'
complete -c cloud -n '__cloud_at \'roles update\'' -l from -r -F -d 'JSON or YAML file with fields to replace; - for stdin'
complete -c cloud -n '__cloud_at \'roles update\'' -l wait -d 'Wait until reads show the change'
complete -c cloud -n '__cloud_at \'roles update\'' -l wait-timeout -x -d 'Maximum time to wait; default 60s'
complete -c cloud -n '__cloud_argument \'roles update\' 0 0' -a '(__cloud_ask role)'
complete -c cloud -n '__cloud_at \'roles edit\'' -l wait -d 'Wait until reads show the change'
complete -c cloud -n '__cloud_at \'roles edit\'' -l wait-timeout -x -d 'Maximum time to wait; default 60s'
complete -c cloud -n '__cloud_argument \'roles edit\' 0 0' -a '(__cloud_ask role)'
complete -c cloud -n '__cloud_at \'roles delete\'' -s y -l yes -d 'Do not ask for confirmation'
complete -c cloud -n '__cloud_at \'roles delete\'' -s n -l dry-run -d 'Only show what would be deleted'
complete -c cloud -n '__cloud_at \'roles delete\'' -l wait -d 'Wait until reads show the change'
complete -c cloud -n '__cloud_at \'roles delete\'' -l wait-timeout -x -d 'Maximum time to wait; default 60s'
complete -c cloud -n '__cloud_argument \'roles delete\' 0 100000' -a '(__cloud_ask role)'
complete -c cloud -n '__cloud_below \'roles tags\'' -a get -d 'Show the role tags of a resource'
complete -c cloud -n '__cloud_below \'roles tags\'' -a set -d 'Replace the role tags of a resource'
complete -c cloud -n '__cloud_below \'roles tags\'' -a add -d 'Add role tags to a resource'
complete -c cloud -n '__cloud_below \'roles tags\'' -a remove -d 'Remove role tags from a resource'
complete -c cloud -n '__cloud_below \'roles tags\'' -a '(__cloud_aliases get show \'Show the role tags of a resource\' remove rm \'Remove role tags from a resource\')'
complete -c cloud -n '__cloud_argument \'roles tags get\' 0 0' -a '(__cloud_ask resource)'
complete -c cloud -n '__cloud_at \'roles tags set\'' -s r -l recursive -d 'Include the members of a collection, the keys of users, or everything in the account'
complete -c cloud -n '__cloud_at \'roles tags set\'' -s n -l dry-run -d 'Only show what would be done'
complete -c cloud -n '__cloud_argument \'roles tags set\' 0 0' -a '(__cloud_ask resource)'
complete -c cloud -n '__cloud_argument \'roles tags set\' 1 100000' -a '(__cloud_ask role)'
complete -c cloud -n '__cloud_argument \'roles tags add\' 0 0' -a '(__cloud_ask resource)'
complete -c cloud -n '__cloud_argument \'roles tags add\' 1 100000' -a '(__cloud_ask role)'
complete -c cloud -n '__cloud_argument \'roles tags remove\' 0 0' -a '(__cloud_ask resource)'
complete -c cloud -n '__cloud_argument \'roles tags remove\' 1 100000' -a '(__cloud_ask role)'
complete -c cloud -n '__cloud_below \'policies\'' -a list -d 'List the policies'
complete -c cloud -n '__cloud_below \'policies\'' -a get -d 'Show a policy'
complete -c cloud -n '__cloud_below \'policies\'' -a create -d 'Create a policy'
complete -c cloud -n '__cloud_below \'policies\'' -a update -d 'Change a policy'
complete -c cloud -n '__cloud_below \'policies\'' -a edit -d 'Edit a policy in your editor'
complete -c cloud -n '__cloud_below \'policies\'' -a delete -d 'Delete policies'
complete -c cloud -n '__cloud_below \'policies\'' -a check -d 'Check rules without a service: syntax, unknown actions, rules that grant nothing'
complete -c cloud -n '__cloud_below \'policies\'' -a simulate -d 'Simulate a request: is it allowed, and why'
complete -c cloud -n '__cloud_below \'policies\'' -a who-can -d 'List who may do something, and by which role, policy and rule'
complete -c cloud -n '__cloud_below \'policies\'' -a '(__cloud_aliases list ls \'List the policies\' get show \'Show a policy\' create add \'Create a policy\' delete rm \'Delete policies\')'
complete -c cloud -n '__cloud_at \'policies list\'' -l dc -x -a '(__cloud_ask datacenter)' -d 'Datacenters to query: names, or all; adds a DC column'
complete -c cloud -n '__cloud_at \'policies get\'' -l dc -x -a '(__cloud_ask datacenter)' -d 'Datacenters to query: names, or all; adds a DC column'
complete -c cloud -n '__cloud_argument \'policies get\' 0 100000' -a '(__cloud_ask policy)'
complete -c cloud -n '__cloud_at \'policies create\'' -l rule -x -a '(__cloud_ask rule)' -d 'Rule: CAN <actions> WHEN <conditions>; @FILE reads a file'
complete -c cloud -n '__cloud_at \'policies create\'' -l description -x -d 'Description'
complete -c cloud -n '__cloud_at \'policies create\'' -l from -r -F -d 'JSON or YAML file with name, description and rules; - for stdin; options take precedence'
complete -c cloud -n '__cloud_at \'policies create\'' -l wait -d 'Wait until reads show the change'
complete -c cloud -n '__cloud_at \'policies create\'' -l wait-timeout -x -d 'Maximum time to wait; default 60s'
complete -c cloud -n '__cloud_at \'policies update\'' -l name -x -d 'New name'
complete -c cloud -n '__cloud_at \'policies update\'' -l description -x -d 'New description; empty to clear it'
complete -c cloud -n '__cloud_at \'policies update\'' -l rule -x -a '(__cloud_ask rule)' -d 'Rule that replaces all rules'
complete -c cloud -n '__cloud_at \'policies update\'' -l add-rule -x -a '(__cloud_ask rule)' -d 'Rule to add: CAN <actions> WHEN <conditions>; @FILE reads a file'
complete -c cloud -n '__cloud_at \'policies update\'' -l remove-rule -x -a '(__cloud_ask rule)' -d 'Rule to remove'
complete -c cloud -n '__cloud_at \'policies update\'' -l from -r -F -d 'JSON or YAML file with fields to replace; - for stdin'
complete -c cloud -n '__cloud_at \'policies update\'' -l wait -d 'Wait until reads show the change'
complete -c cloud -n '__cloud_at \'policies update\'' -l wait-timeout -x -d 'Maximum time to wait; default 60s'
complete -c cloud -n '__cloud_argument \'policies update\' 0 0' -a '(__cloud_ask policy)'
complete -c cloud -n '__cloud_at \'policies edit\'' -l wait -d 'Wait until reads show the change'
complete -c cloud -n '__cloud_at \'policies edit\'' -l wait-timeout -x -d 'Maximum time to wait; default 60s'
complete -c cloud -n '__cloud_argument \'policies edit\' 0 0' -a '(__cloud_ask policy)'
complete -c cloud -n '__cloud_at \'policies delete\'' -s y -l yes -d 'Do not ask for confirmation'
complete -c cloud -n '__cloud_at \'policies delete\'' -s n -l dry-run -d 'Only show what would be deleted'
complete -c cloud -n '__cloud_at \'policies delete\'' -l wait -d 'Wait until reads show the change'
complete -c cloud -n '__cloud_at \'policies delete\'' -l wait-timeout -x -d 'Maximum time to wait; default 60s'
complete -c cloud -n '__cloud_argument \'policies delete\' 0 100000' -a '(__cloud_ask policy)'
complete -c cloud -n '__cloud_argument \'policies check\' 0 0' -F
complete -c cloud -n '__cloud_at \'policies simulate\'' -l with-role -x -a '(__cloud_ask role)' -d 'Role to activate instead of the default roles; * for all'
complete -c cloud -n '__cloud_at \'policies simulate\'' -l at -x -d 'Time in UTC: 2024-05-01T09:00Z, 09:00, "monday 09:00"; default the time of the service'
complete -c cloud -n '__cloud_at \'policies simulate\'' -l source -x -d 'Source address of the request'
complete -c cloud -n '__cloud_at \'policies simulate\'' -l datacenter -x -a '(__cloud_ask datacenter)' -d 'Datacenter of the request; default that of the service'
complete -c cloud -n '__cloud_at \'policies simulate\'' -l from -r -F -d 'Use this document instead of the account'
complete -c cloud -n '__cloud_at \'policies simulate\'' -l expect -x -a 'allow deny' -d 'Fail if the result differs'
complete -c cloud -n '__cloud_argument \'policies simulate\' 0 0' -a '(__cloud_ask user)'
complete -c cloud -n '__cloud_argument \'policies simulate\' 1 1' -a '(__cloud_ask action)'
complete -c cloud -n '__cloud_argument \'policies simulate\' 2 2' -a '(__cloud_ask resource)'
complete -c cloud -n '__cloud_at \'policies who-can\'' -l at -x -d 'Time in UTC: 2024-05-01T09:00Z, 09:00, "monday 09:00"; default the time of the service'
complete -c cloud -n '__cloud_at \'policies who-can\'' -l source -x -d 'Source address of the request'
complete -c cloud -n '__cloud_at \'policies who-can\'' -l datacenter -x -a '(__cloud_ask datacenter)' -d 'Datacenter of the request; default that of the service'
complete -c cloud -n '__cloud_at \'policies who-can\'' -l from -r -F -d 'Use this document instead of the account'
complete -c cloud -n '__cloud_argument \'policies who-can\' 0 0' -a '(__cloud_ask action)'
complete -c cloud -n '__cloud_argument \'policies who-can\' 1 1' -a '(__cloud_ask resource)'
complete -c cloud -n '__cloud_below \'rbac\'' -a export -d 'Export users, keys, policies, roles and role tags as YAML'
complete -c cloud -n '__cloud_below \'rbac\'' -a diff -d 'Show what applying a document would change'
complete -c cloud -n '__cloud_below \'rbac\'' -a apply -d 'Apply a document to the account'
complete -c cloud -n '__cloud_below \'rbac\'' -a impact -d 'Show the permissions that users would gain and lose'
complete -c cloud -n '__cloud_below \'rbac\'' -a graph -d 'Draw users, roles, policies and tagged resources as a graph'
complete -c cloud -n '__cloud_below \'rbac\'' -a schema -d 'Print the JSON schema of the document, for editors'
complete -c cloud -n '__cloud_at \'rbac export\'' -l tree -x -d 'Collection or directory whose role tags are exported as a tree, with the exceptions in it'
complete -c cloud -n '__cloud_at \'rbac diff\'' -l prune -d 'Also delete entries that are not in the document'
complete -c cloud -n '__cloud_at \'rbac diff\'' -l exit-code -d 'Exit with 1 if something would change'
complete -c cloud -n '__cloud_argument \'rbac diff\' 0 0' -F
complete -c cloud -n '__cloud_at \'rbac apply\'' -l prune -d 'Also delete entries that are not in the document'
complete -c cloud -n '__cloud_at \'rbac apply\'' -s n -l dry-run -d 'Only show what would be done'
complete -c cloud -n '__cloud_at \'rbac apply\'' -s y -l yes -d 'Do not ask before deleting'
complete -c cloud -n '__cloud_at \'rbac apply\'' -l wait-timeout -x -d 'Maximum time to wait until reads show the changes; default 60s'
complete -c cloud -n '__cloud_argument \'rbac apply\' 0 0' -F
complete -c cloud -n '__cloud_at \'rbac impact\'' -l delete-role -x -a '(__cloud_ask role)' -d 'Role to delete, instead of a document'
complete -c cloud -n '__cloud_at \'rbac impact\'' -l prune -d 'Also delete entries that are not in the document'
complete -c cloud -n '__cloud_at \'rbac impact\'' -l at -x -d 'Time in UTC: 2024-05-01T09:00Z, 09:00, "monday 09:00"; default the time of the service'
complete -c cloud -n '__cloud_at \'rbac impact\'' -l source -x -d 'Source address of the request'
complete -c cloud -n '__cloud_at \'rbac impact\'' -l datacenter -x -a '(__cloud_ask datacenter)' -d 'Datacenter of the request; default that of the service'
complete -c cloud -n '__cloud_argument \'rbac impact\' 0 0' -F
complete -c cloud -n '__cloud_at \'rbac graph\'' -s o -l output -x -a 'dot mermaid json yaml' -d 'Output format: dot for Graphviz, mermaid for Markdown'
complete -c cloud -n '__cloud_argument \'rbac graph\' 0 0' -F
complete -c cloud -n '__cloud_below \'images\'' -a list -d 'List images'
complete -c cloud -n '__cloud_below \'images\'' -a get -d 'Show an image'
complete -c cloud -n '__cloud_below \'images\'' -a create -d 'Create an image from an instance'
complete -c cloud -n '__cloud_below \'images\'' -a import -d 'Copy an image with its origins from another datacenter'
complete -c cloud -n '__cloud_below \'images\'' -a export -d 'Write an image with its manifest into the object storage'
complete -c cloud -n '__cloud_below \'images\'' -a clone -d 'Copy an image that another account shares with you'
complete -c cloud -n '__cloud_below \'images\'' -a pipeline -d 'Create an image, export it, verify the copy and import it into other datacenters'
complete -c cloud -n '__cloud_below \'images\'' -a promote -d 'Import an image with its origins into other datacenters'
complete -c cloud -n '__cloud_below \'images\'' -a update -d 'Change fields of an image'
complete -c cloud -n '__cloud_below \'images\'' -a share -d 'Let other accounts use an image'
complete -c cloud -n '__cloud_below \'images\'' -a unshare -d 'Stop sharing an image with other accounts'
complete -c cloud -n '__cloud_below \'images\'' -a tags -d 'Tags of an image: keys and values'
complete -c cloud -n '__cloud_below \'images\'' -a wait -d 'Wait until images have a state'
complete -c cloud -n '__cloud_below \'images\'' -a delete -d 'Delete images of the account'
complete -c cloud -n '__cloud_below \'images\'' -a '(__cloud_aliases list ls \'List images\' get show \'Show an image\' delete rm \'Delete images of the account\')'
complete -c cloud -n '__cloud_at \'images list\'' -l name -x -d 'Filter by name'
complete -c cloud -n '__cloud_at \'images list\'' -l os -x -d 'Filter by operating system'
complete -c cloud -n '__cloud_at \'images list\'' -l version -x -d 'Filter by version'
complete -c cloud -n '__cloud_at \'images list\'' -l public -d 'Filter by visibility: public, or private with --no-public'
complete -c cloud -n '__cloud_at \'images list\'' -l no-public -d 'Filter by visibility: public, or private with --no-public'
complete -c cloud -n '__cloud_at \'images list\'' -l state -x -a 'active unactivated disabled creating failed all' -d 'Filter by state'
complete -c cloud -n '__cloud_at \'images list\'' -l owner -x -d 'Filter by UUID of the owner'
complete -c cloud -n '__cloud_at \'images list\'' -l type -x -d 'Filter by type of image'
complete -c cloud -n '__cloud_at \'images list\'' -l dc -x -a '(__cloud_ask datacenter)' -d 'Datacenters to query: names, or all; adds a DC column'
complete -c cloud -n '__cloud_at \'images get\'' -l dc -x -a '(__cloud_ask datacenter)' -d 'Datacenters to query: names, or all; adds a DC column'
complete -c cloud -n '__cloud_argument \'images get\' 0 100000' -a '(__cloud_ask image)'
complete -c cloud -n '__cloud_at \'images create\'' -l description -x -d 'Description'
complete -c cloud -n '__cloud_at \'images create\'' -l homepage -x -d 'URL of the home page'
complete -c cloud -n '__cloud_at \'images create\'' -l eula -x -d 'URL of the licence'
complete -c cloud -n '__cloud_at \'images create\'' -l tag -x -d 'Tag: KEY=VALUE, or KEY:=JSON for a number, true or false'
complete -c cloud -n '__cloud_at \'images create\'' -l from -r -F -d 'Read fields from a JSON or YAML file; - for stdin; options take precedence'
complete -c cloud -n '__cloud_at \'images create\'' -l acl -x -d 'Account that may use the image'
complete -c cloud -n '__cloud_at \'images create\'' -l wait -d 'Wait until the image is active'
complete -c cloud -n '__cloud_at \'images create\'' -l wait-timeout -x -d 'Maximum time to wait; default 1h'
complete -c cloud -n '__cloud_argument \'images import\' 0 0' -a '(__cloud_ask datacenter)'
complete -c cloud -n '__cloud_argument \'images export\' 0 0' -a '(__cloud_ask image)'
complete -c cloud -n '__cloud_argument \'images export\' 1 1' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_argument \'images clone\' 0 0' -a '(__cloud_ask image)'
complete -c cloud -n '__cloud_at \'images pipeline\'' -l description -x -d 'Description'
complete -c cloud -n '__cloud_at \'images pipeline\'' -l homepage -x -d 'URL of the home page'
complete -c cloud -n '__cloud_at \'images pipeline\'' -l eula -x -d 'URL of the licence'
complete -c cloud -n '__cloud_at \'images pipeline\'' -l tag -x -d 'Tag: KEY=VALUE, or KEY:=JSON for a number, true or false'
complete -c cloud -n '__cloud_at \'images pipeline\'' -l to -x -a '(__cloud_ask datacenter)' -d 'Datacenters to import into, or all others'
complete -c cloud -n '__cloud_at \'images pipeline\'' -l from -x -a '(__cloud_ask datacenter)' -d 'Datacenter of the profile; default: found by its URL'
complete -c cloud -n '__cloud_at \'images pipeline\'' -l path -x -a '(__cloud_ask path)' -d 'Directory of the object storage for the copy, created if missing; default images'
complete -c cloud -n '__cloud_at \'images pipeline\'' -l wait-timeout -x -d 'Maximum time to wait for an image; default 1h'
complete -c cloud -n '__cloud_at \'images pipeline\'' -s n -l dry-run -d 'Only show what would be done'
complete -c cloud -n '__cloud_at \'images promote\'' -l to -x -a '(__cloud_ask datacenter)' -d 'Datacenters to import into, or all others'
complete -c cloud -n '__cloud_at \'images promote\'' -l from -x -a '(__cloud_ask datacenter)' -d 'Datacenter of the profile; default: found by its URL'
complete -c cloud -n '__cloud_at \'images promote\'' -s n -l dry-run -d 'Only show which images each datacenter lacks'
complete -c cloud -n '__cloud_argument \'images promote\' 0 0' -a '(__cloud_ask image)'
complete -c cloud -n '__cloud_at \'images update\'' -l name -x -d 'New name'
complete -c cloud -n '__cloud_at \'images update\'' -l version -x -d 'New version'
complete -c cloud -n '__cloud_at \'images update\'' -l description -x -d 'Description'
complete -c cloud -n '__cloud_at \'images update\'' -l homepage -x -d 'URL of the home page'
complete -c cloud -n '__cloud_at \'images update\'' -l eula -x -d 'URL of the licence'
complete -c cloud -n '__cloud_at \'images update\'' -l tag -x -d 'Tag: KEY=VALUE, or KEY:=JSON for a number, true or false'
complete -c cloud -n '__cloud_at \'images update\'' -l from -r -F -d 'Read fields from a JSON or YAML file; - for stdin; options take precedence'
complete -c cloud -n '__cloud_at \'images update\'' -l acl -x -d 'Account that may use the image; replaces the current list'
complete -c cloud -n '__cloud_argument \'images update\' 0 0' -a '(__cloud_ask image)'
complete -c cloud -n '__cloud_argument \'images share\' 0 0' -a '(__cloud_ask image)'
complete -c cloud -n '__cloud_argument \'images unshare\' 0 0' -a '(__cloud_ask image)'
complete -c cloud -n '__cloud_below \'images tags\'' -a get -d 'Show the tags of an image'
complete -c cloud -n '__cloud_below \'images tags\'' -a set -d 'Set tags of an image; other tags stay'
complete -c cloud -n '__cloud_below \'images tags\'' -a unset -d 'Remove tags from an image'
complete -c cloud -n '__cloud_below \'images tags\'' -a '(__cloud_aliases get list \'Show the tags of an image\' get show \'Show the tags of an image\' unset rm \'Remove tags from an image\' unset remove \'Remove tags from an image\')'
complete -c cloud -n '__cloud_argument \'images tags get\' 0 0' -a '(__cloud_ask image)'
complete -c cloud -n '__cloud_argument \'images tags set\' 0 0' -a '(__cloud_ask image)'
complete -c cloud -n '__cloud_argument \'images tags unset\' 0 0' -a '(__cloud_ask image)'
complete -c cloud -n '__cloud_at \'images wait\'' -l state -x -a 'active unactivated disabled creating failed' -d 'State to wait for; default active'
complete -c cloud -n '__cloud_at \'images wait\'' -l wait-timeout -x -d 'Maximum time to wait; default 1h'
complete -c cloud -n '__cloud_argument \'images wait\' 0 100000' -a '(__cloud_ask image)'
complete -c cloud -n '__cloud_at \'images delete\'' -s y -l yes -d 'Do not ask for confirmation'
complete -c cloud -n '__cloud_at \'images delete\'' -s n -l dry-run -d 'Only show what would be deleted'
complete -c cloud -n '__cloud_argument \'images delete\' 0 100000' -a '(__cloud_ask image)'
complete -c cloud -n '__cloud_below \'packages\'' -a list -d 'List packages'
complete -c cloud -n '__cloud_below \'packages\'' -a get -d 'Show a package'
complete -c cloud -n '__cloud_below \'packages\'' -a '(__cloud_aliases list ls \'List packages\' get show \'Show a package\')'
complete -c cloud -n '__cloud_at \'packages list\'' -l name -x -d 'Filter by name; * matches anything'
complete -c cloud -n '__cloud_at \'packages list\'' -l version -x -d 'Filter by version; * matches anything'
complete -c cloud -n '__cloud_at \'packages list\'' -l group -x -d 'Filter by group; * matches anything'
complete -c cloud -n '__cloud_at \'packages list\'' -l memory -x -d 'Filter by memory in MiB'
complete -c cloud -n '__cloud_at \'packages list\'' -l disk -x -d 'Filter by disk in MiB'
complete -c cloud -n '__cloud_at \'packages list\'' -l swap -x -d 'Filter by swap in MiB'
complete -c cloud -n '__cloud_at \'packages list\'' -l lwps -x -d 'Filter by maximum number of lightweight processes'
complete -c cloud -n '__cloud_at \'packages list\'' -l vcpus -x -d 'Filter by number of vCPUs'
complete -c cloud -n '__cloud_at \'packages list\'' -l flexible-disk -d 'Filter by flexible disk space; --no-flexible-disk for packages without'
complete -c cloud -n '__cloud_at \'packages list\'' -l no-flexible-disk -d 'Filter by flexible disk space; --no-flexible-disk for packages without'
complete -c cloud -n '__cloud_at \'packages list\'' -l brand -x -d 'Filter by brand of instances; * matches anything'
complete -c cloud -n '__cloud_at \'packages list\'' -l dc -x -a '(__cloud_ask datacenter)' -d 'Datacenters to query: names, or all; adds a DC column'
complete -c cloud -n '__cloud_at \'packages get\'' -l dc -x -a '(__cloud_ask datacenter)' -d 'Datacenters to query: names, or all; adds a DC column'
complete -c cloud -n '__cloud_argument \'packages get\' 0 100000' -a '(__cloud_ask package)'
complete -c cloud -n '__cloud_below \'datacenters\'' -a list -d 'List the datacenters and the addresses of their services'
complete -c cloud -n '__cloud_below \'datacenters\'' -a get -d 'Show the address of a datacenter'
complete -c cloud -n '__cloud_below \'datacenters\'' -a '(__cloud_aliases list ls \'List the datacenters and the addresses of their services\' get show \'Show the address of a datacenter\')'
complete -c cloud -n '__cloud_argument \'datacenters get\' 0 100000' -a '(__cloud_ask datacenter)'
complete -c cloud -n '__cloud_below \'services\'' -a list -d 'List the services and their addresses'
complete -c cloud -n '__cloud_below \'services\'' -a get -d 'Show the address of a service'
complete -c cloud -n '__cloud_below \'services\'' -a '(__cloud_aliases list ls \'List the services and their addresses\' get show \'Show the address of a service\')'
complete -c cloud -n '__cloud_at \'services list\'' -l dc -x -a '(__cloud_ask datacenter)' -d 'Datacenters to query: names, or all; adds a DC column'
complete -c cloud -n '__cloud_at \'services get\'' -l dc -x -a '(__cloud_ask datacenter)' -d 'Datacenters to query: names, or all; adds a DC column'
complete -c cloud -n '__cloud_argument \'services get\' 0 100000' -a '(__cloud_ask service)'
complete -c cloud -n '__cloud_below \'stor\'' -a ls -d 'List directories'
complete -c cloud -n '__cloud_below \'stor\'' -a find -d 'Find directories and objects'
complete -c cloud -n '__cloud_below \'stor\'' -a tree -d 'Show directories as a tree'
complete -c cloud -n '__cloud_below \'stor\'' -a du -d 'Show the size of directories'
complete -c cloud -n '__cloud_below \'stor\'' -a stat -d 'Show the properties and headers of objects and directories'
complete -c cloud -n '__cloud_below \'stor\'' -a cat -d 'Write objects to stdout in sequence'
complete -c cloud -n '__cloud_below \'stor\'' -a get -d 'Download objects and trees, or write an object to stdout'
complete -c cloud -n '__cloud_below \'stor\'' -a put -d 'Upload files and directory trees'
complete -c cloud -n '__cloud_below \'stor\'' -a mkdir -d 'Create directories'
complete -c cloud -n '__cloud_below \'stor\'' -a rm -d 'Delete objects, empty directories and, with -r, trees'
complete -c cloud -n '__cloud_below \'stor\'' -a cp -d 'Copy files, objects and trees to, from and within the object storage'
complete -c cloud -n '__cloud_below \'stor\'' -a mv -d 'Move or rename objects and trees'
complete -c cloud -n '__cloud_below \'stor\'' -a ln -d 'Create a snap-link: another name for an object'
complete -c cloud -n '__cloud_below \'stor\'' -a meta -d 'Stored headers of objects and directories'
complete -c cloud -n '__cloud_below \'stor\'' -a sync -d 'Update a directory from another one, in either direction'
complete -c cloud -n '__cloud_below \'stor\'' -a diff -d 'Compare two directories'
complete -c cloud -n '__cloud_below \'stor\'' -a snapshot -d 'Snapshots of directories, without copying bytes'
complete -c cloud -n '__cloud_below \'stor\'' -a sign -d 'Create signed URLs that need no key and expire'
complete -c cloud -n '__cloud_below \'stor\'' -a roles -d 'Role tags, which decide which sub-users may use a path'
complete -c cloud -n '__cloud_below \'stor\'' -a run -d 'Run commands from a file, or a plan written by sync'
complete -c cloud -n '__cloud_below \'stor\'' -a '(__cloud_aliases ls list \'List directories\' stat show \'Show the properties and headers of objects and directories\' rm delete \'Delete objects, empty directories and, with -r, trees\' snapshot snapshots \'Snapshots of directories, without copying bytes\')'
complete -c cloud -n '__cloud_at \'stor ls\'' -s t -l time -d 'Sort by time, newest first'
complete -c cloud -n '__cloud_at \'stor ls\'' -s S -l size -d 'Sort by size, largest first'
complete -c cloud -n '__cloud_at \'stor ls\'' -s r -l reverse -d 'Reverse the order'
complete -c cloud -n '__cloud_at \'stor ls\'' -s h -l human -d 'Show sizes with units, also with -l'
complete -c cloud -n '__cloud_at \'stor ls\'' -s 0 -l print0 -d 'Print only names, or paths for several directories, each terminated by NUL'
complete -c cloud -n '__cloud_at \'stor ls\'' -l glob -d 'Expand patterns in paths: *, ?, **, [a-z] and {a,b}'
complete -c cloud -n '__cloud_at \'stor ls\'' -l literal -d 'Take paths literally: * and ? are no wildcards'
complete -c cloud -n '__cloud_at \'stor ls\'' -l paths-from -r -F -d 'Read literal paths from a file; - for stdin. Each terminated by NUL, as find -0 prints them, or one per line'
complete -c cloud -n '__cloud_argument \'stor ls\' 0 100000' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor find\'' -l name -x -d 'Filter by name'
complete -c cloud -n '__cloud_at \'stor find\'' -l type -x -a 'object directory f d' -d 'Filter by type'
complete -c cloud -n '__cloud_at \'stor find\'' -l size -x -d 'Filter objects by size; +SIZE larger, -SIZE smaller'
complete -c cloud -n '__cloud_at \'stor find\'' -l newer -x -d 'Changed after this time; a date, or how long ago'
complete -c cloud -n '__cloud_at \'stor find\'' -l older -x -d 'Changed before this time; a date, or how long ago'
complete -c cloud -n '__cloud_at \'stor find\'' -l maxdepth -x -d 'Maximum depth; 0 is the path itself'
complete -c cloud -n '__cloud_at \'stor find\'' -l exec -x -d 'Run a shell command for each match; the path is {} as a separate argument, "$1" and $CLOUD_PATH'
complete -c cloud -n '__cloud_at \'stor find\'' -l delete -d 'Delete the matches'
complete -c cloud -n '__cloud_at \'stor find\'' -s n -l dry-run -d 'With --delete: only show what would be deleted'
complete -c cloud -n '__cloud_at \'stor find\'' -s y -l yes -d 'Do not ask before deleting'
complete -c cloud -n '__cloud_at \'stor find\'' -s 0 -l print0 -d 'Terminate paths with NUL instead of a newline'
complete -c cloud -n '__cloud_at \'stor find\'' -l include -x -d 'Only files whose name matches; a pattern with a slash is compared with the path'
complete -c cloud -n '__cloud_at \'stor find\'' -l exclude -x -d 'Exclude names that match, also those that --include selects; with a trailing / only directories'
complete -c cloud -n '__cloud_at \'stor find\'' -l exclude-from -r -F -d 'Exclude names that match a line of the file; - for stdin. Empty lines and lines that begin with # are ignored'
complete -c cloud -n '__cloud_at \'stor find\'' -l glob -d 'Expand patterns in paths: *, ?, **, [a-z] and {a,b}'
complete -c cloud -n '__cloud_at \'stor find\'' -l literal -d 'Take paths literally: * and ? are no wildcards'
complete -c cloud -n '__cloud_argument \'stor find\' 0 100000' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor tree\'' -s L -l maxdepth -x -d 'Maximum depth'
complete -c cloud -n '__cloud_at \'stor tree\'' -l glob -d 'Expand patterns in paths: *, ?, **, [a-z] and {a,b}'
complete -c cloud -n '__cloud_at \'stor tree\'' -l literal -d 'Take paths literally: * and ? are no wildcards'
complete -c cloud -n '__cloud_argument \'stor tree\' 0 100000' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor du\'' -s d -l depth -x -d 'Depth of the listed directories; default 1, 0 for the sum only'
complete -c cloud -n '__cloud_at \'stor du\'' -s h -l human -d 'Show sizes with units, also with -l'
complete -c cloud -n '__cloud_at \'stor du\'' -l include -x -d 'Only files whose name matches; a pattern with a slash is compared with the path'
complete -c cloud -n '__cloud_at \'stor du\'' -l exclude -x -d 'Exclude names that match, also those that --include selects; with a trailing / only directories'
complete -c cloud -n '__cloud_at \'stor du\'' -l exclude-from -r -F -d 'Exclude names that match a line of the file; - for stdin. Empty lines and lines that begin with # are ignored'
complete -c cloud -n '__cloud_at \'stor du\'' -l glob -d 'Expand patterns in paths: *, ?, **, [a-z] and {a,b}'
complete -c cloud -n '__cloud_at \'stor du\'' -l literal -d 'Take paths literally: * and ? are no wildcards'
complete -c cloud -n '__cloud_argument \'stor du\' 0 100000' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor stat\'' -l glob -d 'Expand patterns in paths: *, ?, **, [a-z] and {a,b}'
complete -c cloud -n '__cloud_at \'stor stat\'' -l literal -d 'Take paths literally: * and ? are no wildcards'
complete -c cloud -n '__cloud_at \'stor stat\'' -l paths-from -r -F -d 'Read literal paths from a file; - for stdin. Each terminated by NUL, as find -0 prints them, or one per line'
complete -c cloud -n '__cloud_argument \'stor stat\' 0 100000' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor cat\'' -l glob -d 'Expand patterns in paths: *, ?, **, [a-z] and {a,b}'
complete -c cloud -n '__cloud_at \'stor cat\'' -l literal -d 'Take paths literally: * and ? are no wildcards'
complete -c cloud -n '__cloud_at \'stor cat\'' -l paths-from -r -F -d 'Read literal paths from a file; - for stdin. Each terminated by NUL, as find -0 prints them, or one per line'
complete -c cloud -n '__cloud_at \'stor cat\'' -l range -x -d 'Byte range of one object: 0-99, 100- or -100 for the last 100'
complete -c cloud -n '__cloud_at \'stor cat\'' -l bwlimit -x -d 'Maximum bytes per second, over all files together'
complete -c cloud -n '__cloud_argument \'stor cat\' 0 100000' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor get\'' -s r -l recursive -d 'Download directories recursively'
complete -c cloud -n '__cloud_at \'stor get\'' -l continue -d 'Append the missing bytes to a file that is the beginning of the object; other files are not changed'
complete -c cloud -n '__cloud_at \'stor get\'' -l no-clobber -d 'Do not replace existing files'
complete -c cloud -n '__cloud_at \'stor get\'' -s n -l dry-run -d 'Only show what would be done'
complete -c cloud -n '__cloud_at \'stor get\'' -s T -l no-target-directory -d 'Use TARGET as the new name, even if it is a directory'
complete -c cloud -n '__cloud_at \'stor get\'' -s p -l parents -d 'Create missing directories of the target'
complete -c cloud -n '__cloud_at \'stor get\'' -l modes -d 'Restore the permission bits that put --modes stored'
complete -c cloud -n '__cloud_at \'stor get\'' -l sparse -d 'Write files sparse: zeros become holes'
complete -c cloud -n '__cloud_at \'stor get\'' -l tar -d 'With -r: write a tar archive of all arguments to stdout'
complete -c cloud -n '__cloud_at \'stor get\'' -l with-headers -d 'With -r: save types, headers and links in .cloud-headers.jsonl at the root, for put -r and sync'
complete -c cloud -n '__cloud_at \'stor get\'' -l glob -d 'Expand patterns in paths: *, ?, **, [a-z] and {a,b}'
complete -c cloud -n '__cloud_at \'stor get\'' -l literal -d 'Take paths literally: * and ? are no wildcards'
complete -c cloud -n '__cloud_at \'stor get\'' -l paths-from -r -F -d 'Read literal paths from a file; - for stdin. Each terminated by NUL, as find -0 prints them, or one per line'
complete -c cloud -n '__cloud_at \'stor get\'' -l include -x -d 'Only files whose name matches; a pattern with a slash is compared with the path'
complete -c cloud -n '__cloud_at \'stor get\'' -l exclude -x -d 'Exclude names that match, also those that --include selects; with a trailing / only directories'
complete -c cloud -n '__cloud_at \'stor get\'' -l exclude-from -r -F -d 'Exclude names that match a line of the file; - for stdin. Empty lines and lines that begin with # are ignored'
complete -c cloud -n '__cloud_at \'stor get\'' -s P -l parallel -x -d 'Number of concurrent transfers; default 16, fewer with a low --bwlimit'
complete -c cloud -n '__cloud_at \'stor get\'' -l bwlimit -x -d 'Maximum bytes per second, over all files together'
complete -c cloud -n '__cloud_at \'stor get\'' -l part-size -x -d 'Size of the parts or ranges of a large file, at least 5 MiB'
complete -c cloud -n '__cloud_at \'stor get\'' -l progress -x -a 'bar plain none' -d 'Progress on stderr; by default a bar on a terminal, and elsewhere a plain line at intervals'
complete -c cloud -n '__cloud_at \'stor get\'' -l progress-interval -x -d 'Interval of plain lines; default 10s'
complete -c cloud -n '__cloud_at \'stor get\'' -l no-progress -d 'Same as --progress none'
complete -c cloud -n '__cloud_argument \'stor get\' 0 100000' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor put\'' -s r -l recursive -d 'Upload directories recursively'
complete -c cloud -n '__cloud_at \'stor put\'' -s p -l parents -d 'Create missing parent directories'
complete -c cloud -n '__cloud_at \'stor put\'' -l type -x -d 'Content type; by default guessed from the name'
complete -c cloud -n '__cloud_at \'stor put\'' -s m -l meta -x -d 'Custom header, stored as m-KEY'
complete -c cloud -n '__cloud_at \'stor put\'' -l header -x -d 'Any header that the service stores'
complete -c cloud -n '__cloud_at \'stor put\'' -l copies -x -d 'Number of copies'
complete -c cloud -n '__cloud_at \'stor put\'' -l modes -d 'Store the permission bits in m-mode'
complete -c cloud -n '__cloud_at \'stor put\'' -l if-match -x -d 'Replace the object only if it has this etag'
complete -c cloud -n '__cloud_at \'stor put\'' -l if-modified-since -x -d 'Store only if the object has changed since, or does not exist; a date, or how long ago'
complete -c cloud -n '__cloud_at \'stor put\'' -l no-clobber -d 'Do not replace an existing object'
complete -c cloud -n '__cloud_at \'stor put\'' -s T -l no-target-directory -d 'Use TARGET as the new name, even if it is a directory'
complete -c cloud -n '__cloud_at \'stor put\'' -s n -l dry-run -d 'Only show what would be done'
complete -c cloud -n '__cloud_at \'stor put\'' -l max-size -x -d 'Maximum bytes to read from stdin'
complete -c cloud -n '__cloud_at \'stor put\'' -l growing -d 'Store the content that growing files have when they are opened'
complete -c cloud -n '__cloud_at \'stor put\'' -l untar -d 'Store the entries of tar archives instead of the archives'
complete -c cloud -n '__cloud_at \'stor put\'' -l links -x -a 'follow skip' -d 'Follow all symbolic links, or none; by default those to files inside the tree'
complete -c cloud -n '__cloud_at \'stor put\'' -l backup-dir -r -F -a '(__cloud_ask_beside_files)' -d 'Move replaced and deleted files to DIR'
complete -c cloud -n '__cloud_at \'stor put\'' -l link-known -d 'Link files stored before; do not send them'
complete -c cloud -n '__cloud_at \'stor put\'' -l include -x -d 'Only files whose name matches; a pattern with a slash is compared with the path'
complete -c cloud -n '__cloud_at \'stor put\'' -l exclude -x -d 'Exclude names that match, also those that --include selects; with a trailing / only directories'
complete -c cloud -n '__cloud_at \'stor put\'' -l exclude-from -r -F -d 'Exclude names that match a line of the file; - for stdin. Empty lines and lines that begin with # are ignored'
complete -c cloud -n '__cloud_at \'stor put\'' -l without-headers -d 'With -r: ignore .cloud-headers.jsonl, which get --with-headers writes'
complete -c cloud -n '__cloud_at \'stor put\'' -s P -l parallel -x -d 'Number of concurrent transfers; default 16, fewer with a low --bwlimit'
complete -c cloud -n '__cloud_at \'stor put\'' -l bwlimit -x -d 'Maximum bytes per second, over all files together'
complete -c cloud -n '__cloud_at \'stor put\'' -l part-size -x -d 'Size of the parts or ranges of a large file, at least 5 MiB'
complete -c cloud -n '__cloud_at \'stor put\'' -l progress -x -a 'bar plain none' -d 'Progress on stderr; by default a bar on a terminal, and elsewhere a plain line at intervals'
complete -c cloud -n '__cloud_at \'stor put\'' -l progress-interval -x -d 'Interval of plain lines; default 10s'
complete -c cloud -n '__cloud_at \'stor put\'' -l no-progress -d 'Same as --progress none'
complete -c cloud -n '__cloud_argument \'stor put\' 0 100000' -F -a '(__cloud_ask_beside_files)'
complete -c cloud -n '__cloud_at \'stor mkdir\'' -s p -l parents -d 'Also create missing parent directories'
complete -c cloud -n '__cloud_argument \'stor mkdir\' 0 100000' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor rm\'' -l glob -d 'Expand patterns in paths: *, ?, **, [a-z] and {a,b}'
complete -c cloud -n '__cloud_at \'stor rm\'' -l paths-from -r -F -d 'Read literal paths from a file; - for stdin. Each terminated by NUL, as find -0 prints them, or one per line'
complete -c cloud -n '__cloud_at \'stor rm\'' -s f -l missing-ok -d 'Ignore missing paths'
complete -c cloud -n '__cloud_at \'stor rm\'' -s r -l recursive -d 'Delete directories recursively'
complete -c cloud -n '__cloud_at \'stor rm\'' -s y -l yes -d 'Do not ask'
complete -c cloud -n '__cloud_at \'stor rm\'' -s n -l dry-run -d 'Only show what would be done'
complete -c cloud -n '__cloud_at \'stor rm\'' -l include -x -d 'Only files whose name matches; a pattern with a slash is compared with the path'
complete -c cloud -n '__cloud_at \'stor rm\'' -l exclude -x -d 'Exclude names that match, also those that --include selects; with a trailing / only directories'
complete -c cloud -n '__cloud_at \'stor rm\'' -l exclude-from -r -F -d 'Exclude names that match a line of the file; - for stdin. Empty lines and lines that begin with # are ignored'
complete -c cloud -n '__cloud_at \'stor rm\'' -s P -l parallel -x -d 'Number of concurrent transfers; default 16, fewer with a low --bwlimit'
complete -c cloud -n '__cloud_argument \'stor rm\' 0 100000' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor cp\'' -s r -l recursive -d 'Copy directories recursively'
complete -c cloud -n '__cloud_at \'stor cp\'' -l glob -d 'Expand patterns in paths: *, ?, **, [a-z] and {a,b}'
complete -c cloud -n '__cloud_at \'stor cp\'' -l literal -d 'Take paths literally: * and ? are no wildcards'
complete -c cloud -n '__cloud_at \'stor cp\'' -l no-clobber -d 'Do not replace existing objects'
complete -c cloud -n '__cloud_at \'stor cp\'' -s p -l parents -d 'Create missing parent directories'
complete -c cloud -n '__cloud_at \'stor cp\'' -l copy -d 'If the service refuses links, copy the bytes through this machine'
complete -c cloud -n '__cloud_at \'stor cp\'' -s n -l dry-run -d 'Only show what would be done'
complete -c cloud -n '__cloud_at \'stor cp\'' -s T -l no-target-directory -d 'Use TARGET as the new name, even if it is a directory'
complete -c cloud -n '__cloud_at \'stor cp\'' -l paths-from -r -F -d 'Read literal paths from a file; - for stdin. Each terminated by NUL, as find -0 prints them, or one per line'
complete -c cloud -n '__cloud_at \'stor cp\'' -s P -l parallel -x -d 'Number of concurrent transfers; default 16, fewer with a low --bwlimit'
complete -c cloud -n '__cloud_at \'stor cp\'' -l bwlimit -x -d 'Maximum bytes per second, over all files together'
complete -c cloud -n '__cloud_at \'stor cp\'' -l part-size -x -d 'Size of the parts or ranges of a large file, at least 5 MiB'
complete -c cloud -n '__cloud_at \'stor cp\'' -l progress -x -a 'bar plain none' -d 'Progress on stderr; by default a bar on a terminal, and elsewhere a plain line at intervals'
complete -c cloud -n '__cloud_at \'stor cp\'' -l progress-interval -x -d 'Interval of plain lines; default 10s'
complete -c cloud -n '__cloud_at \'stor cp\'' -l no-progress -d 'Same as --progress none'
complete -c cloud -n '__cloud_at \'stor cp\'' -l include -x -d 'Only files whose name matches; a pattern with a slash is compared with the path'
complete -c cloud -n '__cloud_at \'stor cp\'' -l exclude -x -d 'Exclude names that match, also those that --include selects; with a trailing / only directories'
complete -c cloud -n '__cloud_at \'stor cp\'' -l exclude-from -r -F -d 'Exclude names that match a line of the file; - for stdin. Empty lines and lines that begin with # are ignored'
complete -c cloud -n '__cloud_at \'stor cp\'' -l type -x -d 'Content type of uploaded files; by default guessed from the name'
complete -c cloud -n '__cloud_at \'stor cp\'' -l modes -d 'Store the permission bits of files in m-mode'
complete -c cloud -n '__cloud_argument \'stor cp\' 0 100000' -F -a '(__cloud_ask_beside_files)'
complete -c cloud -n '__cloud_at \'stor mv\'' -l glob -d 'Expand patterns in paths: *, ?, **, [a-z] and {a,b}'
complete -c cloud -n '__cloud_at \'stor mv\'' -l no-clobber -d 'Do not replace existing objects'
complete -c cloud -n '__cloud_at \'stor mv\'' -s p -l parents -d 'Create missing parent directories'
complete -c cloud -n '__cloud_at \'stor mv\'' -l copy -d 'If the service refuses links, copy the bytes through this machine'
complete -c cloud -n '__cloud_at \'stor mv\'' -s n -l dry-run -d 'Only show what would be done'
complete -c cloud -n '__cloud_at \'stor mv\'' -s T -l no-target-directory -d 'Use TARGET as the new name, even if it is a directory'
complete -c cloud -n '__cloud_at \'stor mv\'' -l paths-from -r -F -d 'Read literal paths from a file; - for stdin. Each terminated by NUL, as find -0 prints them, or one per line'
complete -c cloud -n '__cloud_at \'stor mv\'' -s P -l parallel -x -d 'Number of concurrent transfers; default 16, fewer with a low --bwlimit'
complete -c cloud -n '__cloud_at \'stor mv\'' -l bwlimit -x -d 'Maximum bytes per second, over all files together'
complete -c cloud -n '__cloud_at \'stor mv\'' -l part-size -x -d 'Size of the parts or ranges of a large file, at least 5 MiB'
complete -c cloud -n '__cloud_at \'stor mv\'' -l progress -x -a 'bar plain none' -d 'Progress on stderr; by default a bar on a terminal, and elsewhere a plain line at intervals'
complete -c cloud -n '__cloud_at \'stor mv\'' -l progress-interval -x -d 'Interval of plain lines; default 10s'
complete -c cloud -n '__cloud_at \'stor mv\'' -l no-progress -d 'Same as --progress none'
complete -c cloud -n '__cloud_argument \'stor mv\' 0 100000' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor ln\'' -s p -l parents -d 'Create missing parent directories'
complete -c cloud -n '__cloud_at \'stor ln\'' -l no-clobber -d 'Do not replace existing objects'
complete -c cloud -n '__cloud_argument \'stor ln\' 0 0' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_argument \'stor ln\' 1 1' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_below \'stor meta\'' -a get -d 'Show the stored headers of an object or directory'
complete -c cloud -n '__cloud_below \'stor meta\'' -a set -d 'Set headers and keep the others'
complete -c cloud -n '__cloud_below \'stor meta\'' -a unset -d 'Remove headers and keep the others'
complete -c cloud -n '__cloud_below \'stor meta\'' -a replace -d 'Replace all headers'
complete -c cloud -n '__cloud_below \'stor meta\'' -a '(__cloud_aliases get show \'Show the stored headers of an object or directory\' get list \'Show the stored headers of an object or directory\')'
complete -c cloud -n '__cloud_argument \'stor meta get\' 0 0' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor meta set\'' -l type -x -d 'Content type'
complete -c cloud -n '__cloud_at \'stor meta set\'' -l header -x -d 'Any other header that the service stores'
complete -c cloud -n '__cloud_argument \'stor meta set\' 0 0' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_argument \'stor meta unset\' 0 0' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor meta replace\'' -l type -x -d 'Content type'
complete -c cloud -n '__cloud_at \'stor meta replace\'' -l header -x -d 'Any other header that the service stores'
complete -c cloud -n '__cloud_argument \'stor meta replace\' 0 0' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor sync\'' -l delete -d 'Delete what is only in the target; asks first'
complete -c cloud -n '__cloud_at \'stor sync\'' -s y -l yes -d 'With --delete: do not ask'
complete -c cloud -n '__cloud_at \'stor sync\'' -l max-delete -x -d 'With --delete: refuse to delete more than N'
complete -c cloud -n '__cloud_at \'stor sync\'' -l allow-empty-source -d 'With --delete: allow an empty source'
complete -c cloud -n '__cloud_at \'stor sync\'' -s n -l dry-run -d 'Only show what would be done'
complete -c cloud -n '__cloud_at \'stor sync\'' -l plan -r -F -d 'Write the steps to FILE; do nothing'
complete -c cloud -n '__cloud_at \'stor sync\'' -s w -l watch -d 'Watch for changes and sync them, until Ctrl-C'
complete -c cloud -n '__cloud_at \'stor sync\'' -l watch-interval -x -d 'With --watch: maximum time between runs'
complete -c cloud -n '__cloud_at \'stor sync\'' -l backup-dir -r -F -a '(__cloud_ask_beside_files)' -d 'Move replaced and deleted files to DIR'
complete -c cloud -n '__cloud_at \'stor sync\'' -l link-known -d 'Link files stored before; do not send them'
complete -c cloud -n '__cloud_at \'stor sync\'' -l with-headers -d 'Download: save types, headers and links in .cloud-headers.jsonl at the root'
complete -c cloud -n '__cloud_at \'stor sync\'' -l without-headers -d 'Upload: ignore that file of headers'
complete -c cloud -n '__cloud_at \'stor sync\'' -l checksum -d 'Compare contents by MD5 instead of times'
complete -c cloud -n '__cloud_at \'stor sync\'' -l size-only -d 'Compare sizes only'
complete -c cloud -n '__cloud_at \'stor sync\'' -l headers -d 'Also compare stored headers'
complete -c cloud -n '__cloud_at \'stor sync\'' -l links -x -a 'follow skip' -d 'Follow all symbolic links, or none; by default those to files inside the tree'
complete -c cloud -n '__cloud_at \'stor sync\'' -l include -x -d 'Only files whose name matches; a pattern with a slash is compared with the path'
complete -c cloud -n '__cloud_at \'stor sync\'' -l exclude -x -d 'Exclude names that match, also those that --include selects; with a trailing / only directories'
complete -c cloud -n '__cloud_at \'stor sync\'' -l exclude-from -r -F -d 'Exclude names that match a line of the file; - for stdin. Empty lines and lines that begin with # are ignored'
complete -c cloud -n '__cloud_at \'stor sync\'' -l copies -x -d 'Number of copies of each stored object'
complete -c cloud -n '__cloud_at \'stor sync\'' -l modes -d 'Keep permission bits'
complete -c cloud -n '__cloud_at \'stor sync\'' -l sparse -d 'Write files sparse: zeros become holes'
complete -c cloud -n '__cloud_at \'stor sync\'' -l reset-headers -d 'Reset the headers of replaced objects'
complete -c cloud -n '__cloud_at \'stor sync\'' -l copy -d 'Copy the bytes if the service refuses links'
complete -c cloud -n '__cloud_at \'stor sync\'' -s P -l parallel -x -d 'Number of concurrent transfers; default 16, fewer with a low --bwlimit'
complete -c cloud -n '__cloud_at \'stor sync\'' -l bwlimit -x -d 'Maximum bytes per second, over all files together'
complete -c cloud -n '__cloud_at \'stor sync\'' -l part-size -x -d 'Size of the parts or ranges of a large file, at least 5 MiB'
complete -c cloud -n '__cloud_at \'stor sync\'' -l progress -x -a 'bar plain none' -d 'Progress on stderr; by default a bar on a terminal, and elsewhere a plain line at intervals'
complete -c cloud -n '__cloud_at \'stor sync\'' -l progress-interval -x -d 'Interval of plain lines; default 10s'
complete -c cloud -n '__cloud_at \'stor sync\'' -l no-progress -d 'Same as --progress none'
complete -c cloud -n '__cloud_argument \'stor sync\' 0 0' -F -a '(__cloud_ask_beside_files)'
complete -c cloud -n '__cloud_argument \'stor sync\' 1 1' -F -a '(__cloud_ask_beside_files)'
complete -c cloud -n '__cloud_at \'stor diff\'' -l checksum -d 'Compare contents by MD5 instead of times'
complete -c cloud -n '__cloud_at \'stor diff\'' -l size-only -d 'Compare sizes only'
complete -c cloud -n '__cloud_at \'stor diff\'' -l headers -d 'Also compare stored headers'
complete -c cloud -n '__cloud_at \'stor diff\'' -l links -x -a 'follow skip' -d 'Follow all symbolic links, or none; by default those to files inside the tree'
complete -c cloud -n '__cloud_at \'stor diff\'' -l include -x -d 'Only files whose name matches; a pattern with a slash is compared with the path'
complete -c cloud -n '__cloud_at \'stor diff\'' -l exclude -x -d 'Exclude names that match, also those that --include selects; with a trailing / only directories'
complete -c cloud -n '__cloud_at \'stor diff\'' -l exclude-from -r -F -d 'Exclude names that match a line of the file; - for stdin. Empty lines and lines that begin with # are ignored'
complete -c cloud -n '__cloud_at \'stor diff\'' -l exit-code -d 'Exit with 1 if there are differences'
complete -c cloud -n '__cloud_argument \'stor diff\' 0 0' -F -a '(__cloud_ask_beside_files)'
complete -c cloud -n '__cloud_argument \'stor diff\' 1 1' -F -a '(__cloud_ask_beside_files)'
complete -c cloud -n '__cloud_below \'stor snapshot\'' -a create -d 'Create a snapshot of a directory'
complete -c cloud -n '__cloud_below \'stor snapshot\'' -a list -d 'List snapshots, oldest first'
complete -c cloud -n '__cloud_below \'stor snapshot\'' -a diff -d 'Compare a snapshot with the directory or another snapshot'
complete -c cloud -n '__cloud_below \'stor snapshot\'' -a restore -d 'Restore a directory from a snapshot'
complete -c cloud -n '__cloud_below \'stor snapshot\'' -a delete -d 'Delete snapshots'
complete -c cloud -n '__cloud_below \'stor snapshot\'' -a prune -d 'Delete old and unfinished snapshots'
complete -c cloud -n '__cloud_below \'stor snapshot\'' -a '(__cloud_aliases list ls \'List snapshots, oldest first\' delete rm \'Delete snapshots\')'
complete -c cloud -n '__cloud_at \'stor snapshot create\'' -l copy -d 'If the service refuses links, copy the bytes through this machine'
complete -c cloud -n '__cloud_at \'stor snapshot create\'' -s P -l parallel -x -d 'Number of concurrent transfers; default 16, fewer with a low --bwlimit'
complete -c cloud -n '__cloud_at \'stor snapshot create\'' -l bwlimit -x -d 'Maximum bytes per second, over all files together'
complete -c cloud -n '__cloud_at \'stor snapshot create\'' -l part-size -x -d 'Size of the parts or ranges of a large file, at least 5 MiB'
complete -c cloud -n '__cloud_at \'stor snapshot create\'' -l progress -x -a 'bar plain none' -d 'Progress on stderr; by default a bar on a terminal, and elsewhere a plain line at intervals'
complete -c cloud -n '__cloud_at \'stor snapshot create\'' -l progress-interval -x -d 'Interval of plain lines; default 10s'
complete -c cloud -n '__cloud_at \'stor snapshot create\'' -l no-progress -d 'Same as --progress none'
complete -c cloud -n '__cloud_argument \'stor snapshot create\' 0 0' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_argument \'stor snapshot list\' 0 0' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor snapshot diff\'' -l include -x -d 'Only files whose name matches; a pattern with a slash is compared with the path'
complete -c cloud -n '__cloud_at \'stor snapshot diff\'' -l exclude -x -d 'Exclude names that match, also those that --include selects; with a trailing / only directories'
complete -c cloud -n '__cloud_at \'stor snapshot diff\'' -l exclude-from -r -F -d 'Exclude names that match a line of the file; - for stdin. Empty lines and lines that begin with # are ignored'
complete -c cloud -n '__cloud_argument \'stor snapshot diff\' 0 0' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_argument \'stor snapshot diff\' 1 1' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor snapshot restore\'' -l to -x -a '(__cloud_ask path)' -d 'Restore to another directory'
complete -c cloud -n '__cloud_at \'stor snapshot restore\'' -l delete -d 'Delete what is not in the snapshot; asks first'
complete -c cloud -n '__cloud_at \'stor snapshot restore\'' -s y -l yes -d 'With --delete: do not ask'
complete -c cloud -n '__cloud_at \'stor snapshot restore\'' -l max-delete -x -d 'With --delete: refuse to delete more than N'
complete -c cloud -n '__cloud_at \'stor snapshot restore\'' -s n -l dry-run -d 'Only show what would be done'
complete -c cloud -n '__cloud_at \'stor snapshot restore\'' -l copy -d 'If the service refuses links, copy the bytes through this machine'
complete -c cloud -n '__cloud_at \'stor snapshot restore\'' -l include -x -d 'Only files whose name matches; a pattern with a slash is compared with the path'
complete -c cloud -n '__cloud_at \'stor snapshot restore\'' -l exclude -x -d 'Exclude names that match, also those that --include selects; with a trailing / only directories'
complete -c cloud -n '__cloud_at \'stor snapshot restore\'' -l exclude-from -r -F -d 'Exclude names that match a line of the file; - for stdin. Empty lines and lines that begin with # are ignored'
complete -c cloud -n '__cloud_at \'stor snapshot restore\'' -s P -l parallel -x -d 'Number of concurrent transfers; default 16, fewer with a low --bwlimit'
complete -c cloud -n '__cloud_at \'stor snapshot restore\'' -l bwlimit -x -d 'Maximum bytes per second, over all files together'
complete -c cloud -n '__cloud_at \'stor snapshot restore\'' -l part-size -x -d 'Size of the parts or ranges of a large file, at least 5 MiB'
complete -c cloud -n '__cloud_at \'stor snapshot restore\'' -l progress -x -a 'bar plain none' -d 'Progress on stderr; by default a bar on a terminal, and elsewhere a plain line at intervals'
complete -c cloud -n '__cloud_at \'stor snapshot restore\'' -l progress-interval -x -d 'Interval of plain lines; default 10s'
complete -c cloud -n '__cloud_at \'stor snapshot restore\'' -l no-progress -d 'Same as --progress none'
complete -c cloud -n '__cloud_argument \'stor snapshot restore\' 0 0' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor snapshot delete\'' -s y -l yes -d 'Do not ask'
complete -c cloud -n '__cloud_at \'stor snapshot delete\'' -s n -l dry-run -d 'Only show what would be done'
complete -c cloud -n '__cloud_at \'stor snapshot delete\'' -s P -l parallel -x -d 'Number of concurrent transfers; default 16, fewer with a low --bwlimit'
complete -c cloud -n '__cloud_argument \'stor snapshot delete\' 0 100000' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor snapshot prune\'' -l keep -x -d 'Number of latest snapshots to keep'
complete -c cloud -n '__cloud_at \'stor snapshot prune\'' -l older -x -d 'Only delete snapshots older than this'
complete -c cloud -n '__cloud_at \'stor snapshot prune\'' -s y -l yes -d 'Do not ask'
complete -c cloud -n '__cloud_at \'stor snapshot prune\'' -s n -l dry-run -d 'Only show what would be done'
complete -c cloud -n '__cloud_at \'stor snapshot prune\'' -s P -l parallel -x -d 'Number of concurrent transfers; default 16, fewer with a low --bwlimit'
complete -c cloud -n '__cloud_argument \'stor snapshot prune\' 0 0' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor sign\'' -l expires -x -d 'Lifetime of the URLs; default 1h'
complete -c cloud -n '__cloud_at \'stor sign\'' -l method -x -d 'Allowed method; default GET'
complete -c cloud -n '__cloud_at \'stor sign\'' -l glob -d 'Expand patterns in paths: *, ?, **, [a-z] and {a,b}'
complete -c cloud -n '__cloud_at \'stor sign\'' -l literal -d 'Take paths literally: * and ? are no wildcards'
complete -c cloud -n '__cloud_at \'stor sign\'' -l paths-from -r -F -d 'Read literal paths from a file; - for stdin. Each terminated by NUL, as find -0 prints them, or one per line'
complete -c cloud -n '__cloud_argument \'stor sign\' 0 100000' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_below \'stor roles\'' -a get -d 'Show the role tags of a directory or object'
complete -c cloud -n '__cloud_below \'stor roles\'' -a set -d 'Tag a directory or object with exactly these roles'
complete -c cloud -n '__cloud_below \'stor roles\'' -a add -d 'Add role tags to a directory or object'
complete -c cloud -n '__cloud_below \'stor roles\'' -a remove -d 'Remove role tags from a directory or object'
complete -c cloud -n '__cloud_below \'stor roles\'' -a '(__cloud_aliases get show \'Show the role tags of a directory or object\')'
complete -c cloud -n '__cloud_argument \'stor roles get\' 0 0' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'stor roles set\'' -s r -l recursive -d 'Change directories recursively'
complete -c cloud -n '__cloud_at \'stor roles set\'' -s n -l dry-run -d 'Only show what would be done'
complete -c cloud -n '__cloud_argument \'stor roles set\' 0 0' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_argument \'stor roles set\' 1 100000' -a '(__cloud_ask role)'
complete -c cloud -n '__cloud_at \'stor roles add\'' -s r -l recursive -d 'Change directories recursively'
complete -c cloud -n '__cloud_at \'stor roles add\'' -s n -l dry-run -d 'Only show what would be done'
complete -c cloud -n '__cloud_argument \'stor roles add\' 0 0' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_argument \'stor roles add\' 1 100000' -a '(__cloud_ask role)'
complete -c cloud -n '__cloud_at \'stor roles remove\'' -s r -l recursive -d 'Change directories recursively'
complete -c cloud -n '__cloud_at \'stor roles remove\'' -s n -l dry-run -d 'Only show what would be done'
complete -c cloud -n '__cloud_argument \'stor roles remove\' 0 0' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_argument \'stor roles remove\' 1 100000' -a '(__cloud_ask role)'
complete -c cloud -n '__cloud_at \'stor run\'' -s y -l yes -d 'Do not ask before deleting; applies to all lines'
complete -c cloud -n '__cloud_at \'stor run\'' -l stop-on-error -d 'Start no further lines after one has failed'
complete -c cloud -n '__cloud_at \'stor run\'' -l links -x -a 'follow skip' -d 'Follow all symbolic links, or none; by default those to files inside the tree'
complete -c cloud -n '__cloud_at \'stor run\'' -l copies -x -d 'Number of copies of each stored object'
complete -c cloud -n '__cloud_at \'stor run\'' -l modes -d 'Keep permission bits'
complete -c cloud -n '__cloud_at \'stor run\'' -l sparse -d 'Write files sparse: zeros become holes'
complete -c cloud -n '__cloud_at \'stor run\'' -l reset-headers -d 'Reset the headers of replaced objects'
complete -c cloud -n '__cloud_at \'stor run\'' -l copy -d 'Copy the bytes if the service refuses links'
complete -c cloud -n '__cloud_at \'stor run\'' -s P -l parallel -x -d 'Number of concurrent transfers; default 16, fewer with a low --bwlimit'
complete -c cloud -n '__cloud_at \'stor run\'' -l bwlimit -x -d 'Maximum bytes per second, over all files together'
complete -c cloud -n '__cloud_at \'stor run\'' -l part-size -x -d 'Size of the parts or ranges of a large file, at least 5 MiB'
complete -c cloud -n '__cloud_at \'stor run\'' -l progress -x -a 'bar plain none' -d 'Progress on stderr; by default a bar on a terminal, and elsewhere a plain line at intervals'
complete -c cloud -n '__cloud_at \'stor run\'' -l progress-interval -x -d 'Interval of plain lines; default 10s'
complete -c cloud -n '__cloud_at \'stor run\'' -l no-progress -d 'Same as --progress none'
complete -c cloud -n '__cloud_argument \'stor run\' 0 0' -F
complete -c cloud -n '__cloud_below \'mpu\'' -a create -d 'Create an upload'
complete -c cloud -n '__cloud_below \'mpu\'' -a upload -d 'Upload a file in concurrent parts'
complete -c cloud -n '__cloud_below \'mpu\'' -a put-part -d 'Store or replace a part of an upload'
complete -c cloud -n '__cloud_below \'mpu\'' -a parts -d 'List the stored parts'
complete -c cloud -n '__cloud_below \'mpu\'' -a get -d 'Show an upload'
complete -c cloud -n '__cloud_below \'mpu\'' -a commit -d 'Commit an upload: create the object from its parts'
complete -c cloud -n '__cloud_below \'mpu\'' -a abort -d 'Abort uploads and delete their parts'
complete -c cloud -n '__cloud_below \'mpu\'' -a list -d 'List the uploads of the account'
complete -c cloud -n '__cloud_below \'mpu\'' -a '(__cloud_aliases create add \'Create an upload\' get show \'Show an upload\' abort delete \'Abort uploads and delete their parts\' abort rm \'Abort uploads and delete their parts\' list ls \'List the uploads of the account\')'
complete -c cloud -n '__cloud_at \'mpu create\'' -l type -x -d 'Content type; by default guessed from the name'
complete -c cloud -n '__cloud_at \'mpu create\'' -s m -l meta -x -d 'Custom header, stored as m-KEY'
complete -c cloud -n '__cloud_at \'mpu create\'' -l header -x -d 'Any header that the service stores'
complete -c cloud -n '__cloud_at \'mpu create\'' -l copies -x -d 'Number of copies'
complete -c cloud -n '__cloud_argument \'mpu create\' 0 0' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'mpu upload\'' -s p -l parents -d 'Create missing parent directories'
complete -c cloud -n '__cloud_at \'mpu upload\'' -l type -x -d 'Content type; by default guessed from the name'
complete -c cloud -n '__cloud_at \'mpu upload\'' -s m -l meta -x -d 'Custom header, stored as m-KEY'
complete -c cloud -n '__cloud_at \'mpu upload\'' -l header -x -d 'Any header that the service stores'
complete -c cloud -n '__cloud_at \'mpu upload\'' -l copies -x -d 'Number of copies'
complete -c cloud -n '__cloud_at \'mpu upload\'' -s P -l parallel -x -d 'Number of concurrent transfers; default 16, fewer with a low --bwlimit'
complete -c cloud -n '__cloud_at \'mpu upload\'' -l bwlimit -x -d 'Maximum bytes per second, over all files together'
complete -c cloud -n '__cloud_at \'mpu upload\'' -l part-size -x -d 'Size of the parts or ranges of a large file, at least 5 MiB'
complete -c cloud -n '__cloud_at \'mpu upload\'' -l progress -x -a 'bar plain none' -d 'Progress on stderr; by default a bar on a terminal, and elsewhere a plain line at intervals'
complete -c cloud -n '__cloud_at \'mpu upload\'' -l progress-interval -x -d 'Interval of plain lines; default 10s'
complete -c cloud -n '__cloud_at \'mpu upload\'' -l no-progress -d 'Same as --progress none'
complete -c cloud -n '__cloud_argument \'mpu upload\' 0 0' -F
complete -c cloud -n '__cloud_argument \'mpu upload\' 1 1' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'mpu put-part\'' -l bwlimit -x -d 'Maximum bytes per second, over all files together'
complete -c cloud -n '__cloud_argument \'mpu put-part\' 0 0' -a '(__cloud_ask upload)'
complete -c cloud -n '__cloud_argument \'mpu put-part\' 2 2' -F
complete -c cloud -n '__cloud_argument \'mpu parts\' 0 0' -a '(__cloud_ask upload)'
complete -c cloud -n '__cloud_argument \'mpu get\' 0 0' -a '(__cloud_ask upload)'
complete -c cloud -n '__cloud_argument \'mpu commit\' 0 0' -a '(__cloud_ask upload)'
complete -c cloud -n '__cloud_at \'mpu abort\'' -s y -l yes -d 'Do not ask'
complete -c cloud -n '__cloud_at \'mpu abort\'' -s n -l dry-run -d 'Only show what would be aborted'
complete -c cloud -n '__cloud_argument \'mpu abort\' 0 100000' -a '(__cloud_ask upload)'
complete -c cloud -n '__cloud_below \'jobs\'' -a run -d 'Run a job on objects and print its outputs'
complete -c cloud -n '__cloud_below \'jobs\'' -a list -d 'List the jobs of the account'
complete -c cloud -n '__cloud_below \'jobs\'' -a get -d 'Show a job'
complete -c cloud -n '__cloud_below \'jobs\'' -a create -d 'Create a job that waits for inputs'
complete -c cloud -n '__cloud_below \'jobs\'' -a add -d 'Add inputs to a job'
complete -c cloud -n '__cloud_below \'jobs\'' -a end -d 'End the input of jobs, so that they can finish'
complete -c cloud -n '__cloud_below \'jobs\'' -a cancel -d 'Cancel jobs'
complete -c cloud -n '__cloud_below \'jobs\'' -a wait -d 'Wait until jobs are done'
complete -c cloud -n '__cloud_below \'jobs\'' -a watch -d 'Show the progress of a job until it is done'
complete -c cloud -n '__cloud_below \'jobs\'' -a inputs -d 'List the inputs of a job'
complete -c cloud -n '__cloud_below \'jobs\'' -a outputs -d 'List the outputs of a job, or print their content'
complete -c cloud -n '__cloud_below \'jobs\'' -a failures -d 'List the inputs of a job that failed'
complete -c cloud -n '__cloud_below \'jobs\'' -a errors -d 'List the errors of a job'
complete -c cloud -n '__cloud_below \'jobs\'' -a '(__cloud_aliases list ls \'List the jobs of the account\' get show \'Show a job\')'
complete -c cloud -n '__cloud_at \'jobs run\'' -l name -x -d 'Name of the job'
complete -c cloud -n '__cloud_at \'jobs run\'' -l map -x -d 'Add a map phase: run this shell command once for each input'
complete -c cloud -n '__cloud_at \'jobs run\'' -l reduce -x -d 'Add a reduce phase: run this shell command once for all inputs'
complete -c cloud -n '__cloud_at \'jobs run\'' -l count -x -d 'Number of reducers of the reduce phase; default 1'
complete -c cloud -n '__cloud_at \'jobs run\'' -l asset -x -a '(__cloud_ask path)' -d 'Object placed in the zones of the phase'
complete -c cloud -n '__cloud_at \'jobs run\'' -l init -x -d 'Shell command run in each zone of the phase before its tasks'
complete -c cloud -n '__cloud_at \'jobs run\'' -l memory -x -d 'Memory of each task of the phase'
complete -c cloud -n '__cloud_at \'jobs run\'' -l disk -x -d 'Disk space of each task of the phase'
complete -c cloud -n '__cloud_at \'jobs run\'' -l from -r -F -d 'Job as YAML or JSON, as cloud jobs get -o yaml prints it; - for stdin'
complete -c cloud -n '__cloud_at \'jobs run\'' -l glob -d 'Expand patterns in paths: *, ?, **, [a-z] and {a,b}'
complete -c cloud -n '__cloud_at \'jobs run\'' -l literal -d 'Take paths literally: * and ? are no wildcards'
complete -c cloud -n '__cloud_at \'jobs run\'' -s d -l detach -d 'Show the job and do not wait for it'
complete -c cloud -n '__cloud_at \'jobs run\'' -l wait-timeout -x -d 'Maximum time to wait for the job'
complete -c cloud -n '__cloud_argument \'jobs run\' 0 100000' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'jobs list\'' -l state -x -a 'running live queued done' -d 'Filter by state; live is queued or running'
complete -c cloud -n '__cloud_at \'jobs list\'' -l name -x -d 'Filter by name'
complete -c cloud -n '__cloud_argument \'jobs get\' 0 100000' -a '(__cloud_ask job)'
complete -c cloud -n '__cloud_at \'jobs create\'' -l name -x -d 'Name of the job'
complete -c cloud -n '__cloud_at \'jobs create\'' -l map -x -d 'Add a map phase: run this shell command once for each input'
complete -c cloud -n '__cloud_at \'jobs create\'' -l reduce -x -d 'Add a reduce phase: run this shell command once for all inputs'
complete -c cloud -n '__cloud_at \'jobs create\'' -l count -x -d 'Number of reducers of the reduce phase; default 1'
complete -c cloud -n '__cloud_at \'jobs create\'' -l asset -x -a '(__cloud_ask path)' -d 'Object placed in the zones of the phase'
complete -c cloud -n '__cloud_at \'jobs create\'' -l init -x -d 'Shell command run in each zone of the phase before its tasks'
complete -c cloud -n '__cloud_at \'jobs create\'' -l memory -x -d 'Memory of each task of the phase'
complete -c cloud -n '__cloud_at \'jobs create\'' -l disk -x -d 'Disk space of each task of the phase'
complete -c cloud -n '__cloud_at \'jobs create\'' -l from -r -F -d 'Job as YAML or JSON, as cloud jobs get -o yaml prints it; - for stdin'
complete -c cloud -n '__cloud_at \'jobs add\'' -l end -d 'End the input afterwards'
complete -c cloud -n '__cloud_at \'jobs add\'' -l glob -d 'Expand patterns in paths: *, ?, **, [a-z] and {a,b}'
complete -c cloud -n '__cloud_at \'jobs add\'' -l literal -d 'Take paths literally: * and ? are no wildcards'
complete -c cloud -n '__cloud_argument \'jobs add\' 0 0' -a '(__cloud_ask job)'
complete -c cloud -n '__cloud_argument \'jobs add\' 1 100000' -a '(__cloud_ask path)'
complete -c cloud -n '__cloud_at \'jobs end\'' -s n -l dry-run -d 'Only show which jobs would be changed'
complete -c cloud -n '__cloud_argument \'jobs end\' 0 100000' -a '(__cloud_ask job)'
complete -c cloud -n '__cloud_at \'jobs cancel\'' -s n -l dry-run -d 'Only show what would be cancelled'
complete -c cloud -n '__cloud_at \'jobs cancel\'' -s w -l wait -d 'Wait until they are done'
complete -c cloud -n '__cloud_at \'jobs cancel\'' -l wait-timeout -x -d 'Maximum time to wait'
complete -c cloud -n '__cloud_argument \'jobs cancel\' 0 100000' -a '(__cloud_ask job)'
complete -c cloud -n '__cloud_at \'jobs wait\'' -l wait-timeout -x -d 'Maximum time to wait'
complete -c cloud -n '__cloud_argument \'jobs wait\' 0 100000' -a '(__cloud_ask job)'
complete -c cloud -n '__cloud_at \'jobs watch\'' -l wait-timeout -x -d 'Maximum time to watch'
complete -c cloud -n '__cloud_argument \'jobs watch\' 0 0' -a '(__cloud_ask job)'
complete -c cloud -n '__cloud_at \'jobs inputs\'' -s f -l follow -d 'Print new records until the job is done'
complete -c cloud -n '__cloud_argument \'jobs inputs\' 0 0' -a '(__cloud_ask job)'
complete -c cloud -n '__cloud_at \'jobs outputs\'' -s f -l follow -d 'Print new records until the job is done'
complete -c cloud -n '__cloud_at \'jobs outputs\'' -l cat -d 'Print the content of the outputs in sequence'
complete -c cloud -n '__cloud_argument \'jobs outputs\' 0 0' -a '(__cloud_ask job)'
complete -c cloud -n '__cloud_at \'jobs failures\'' -s f -l follow -d 'Print new records until the job is done'
complete -c cloud -n '__cloud_argument \'jobs failures\' 0 0' -a '(__cloud_ask job)'
complete -c cloud -n '__cloud_at \'jobs errors\'' -s f -l follow -d 'Print new records until the job is done'
complete -c cloud -n '__cloud_at \'jobs errors\'' -l stderr -d 'Include the stderr of each task; the field stderrText in JSON and YAML'
complete -c cloud -n '__cloud_argument \'jobs errors\' 0 0' -a '(__cloud_ask job)'
complete -c cloud -n '__cloud_at \'resume\'' -l all -d 'All interrupted work'
complete -c cloud -n '__cloud_at \'resume\'' -l list -d 'Only list interrupted work'
complete -c cloud -n '__cloud_at \'resume\'' -l drop -d 'Discard the work: delete partial files here and at the service'
complete -c cloud -n '__cloud_argument \'resume\' 0 100000' -a '(__cloud_ask unfinished)'
complete -c cloud -n '__cloud_below \'api\'' -a call -d 'Send any signed request and print the response unchanged'
complete -c cloud -n '__cloud_below \'api\'' -a sign -d 'Create a pre-signed URL, which works for anyone until it expires'
complete -c cloud -n '__cloud_at \'api\'' -s f -l field -x -d 'String field; @FILE reads the value from a file'
complete -c cloud -n '__cloud_at \'api\'' -s F -l json-field -x -d 'JSON field'
complete -c cloud -n '__cloud_at \'api\'' -l input -r -F -d 'Read the body from a file; - for stdin'
complete -c cloud -n '__cloud_at \'api\'' -l header -x -d 'Additional header'
complete -c cloud -n '__cloud_at \'api\'' -l service -x -a 'compute stor' -d 'Service of the request'
complete -c cloud -n '__cloud_at \'api\'' -s i -l include -d 'Also print the status and headers'
complete -c cloud -n '__cloud_at \'api\'' -l paginate -d 'Read all pages of a listing of the object storage; print one record per line'
complete -c cloud -n '__cloud_argument \'api\' 0 0' -a '(__cloud_ask api)'
complete -c cloud -n '__cloud_argument \'api\' 1 1' -a '(__cloud_ask api)'
complete -c cloud -n '__cloud_at \'api call\'' -s f -l field -x -d 'String field; @FILE reads the value from a file'
complete -c cloud -n '__cloud_at \'api call\'' -s F -l json-field -x -d 'JSON field'
complete -c cloud -n '__cloud_at \'api call\'' -l input -r -F -d 'Read the body from a file; - for stdin'
complete -c cloud -n '__cloud_at \'api call\'' -l header -x -d 'Additional header'
complete -c cloud -n '__cloud_at \'api call\'' -l service -x -a 'compute stor' -d 'Service of the request'
complete -c cloud -n '__cloud_at \'api call\'' -s i -l include -d 'Also print the status and headers'
complete -c cloud -n '__cloud_at \'api call\'' -l paginate -d 'Read all pages of a listing of the object storage; print one record per line'
complete -c cloud -n '__cloud_argument \'api call\' 0 0' -a '(__cloud_ask api)'
complete -c cloud -n '__cloud_argument \'api call\' 1 1' -a '(__cloud_ask api)'
complete -c cloud -n '__cloud_at \'api sign\'' -l method -x -d 'Method that the URL allows; default GET'
complete -c cloud -n '__cloud_at \'api sign\'' -l expires -x -d 'Time until the URL expires; default 1h'
complete -c cloud -n '__cloud_at \'api sign\'' -l service -x -a 'compute stor' -d 'Service of the request'
complete -c cloud -n '__cloud_argument \'api sign\' 0 0' -a '(__cloud_ask api)'
complete -c cloud -n '__cloud_below \'url\'' -a explain -d 'Explain a signed URL: what it grants, until when, and whether its signature is valid'
complete -c cloud -n '__cloud_at \'url explain\'' -l method -x -d 'Method of the request; default: the signed methods'
complete -c cloud -n '__cloud_at \'url explain\'' -l service -x -a 'compute stor' -d 'Service, if the URL does not tell'
complete -c cloud -n '__cloud_at \'url explain\'' -l compare -r -F -d 'File with the text that a program signed; - for stdin'
complete -c cloud -n '__cloud_at \'url explain\'' -l expect -x -a 'valid refused' -d 'Fail unless this is the verdict'
complete -c cloud -n '__cloud_below \'profile\'' -a list -d 'List the profiles'
complete -c cloud -n '__cloud_below \'profile\'' -a get -d 'Show a profile'
complete -c cloud -n '__cloud_below \'profile\'' -a create -d 'Create a profile'
complete -c cloud -n '__cloud_below \'profile\'' -a edit -d 'Change settings of a profile'
complete -c cloud -n '__cloud_below \'profile\'' -a use -d 'Make a profile the current one'
complete -c cloud -n '__cloud_below \'profile\'' -a delete -d 'Delete profiles; keys and the cloud stay unchanged'
complete -c cloud -n '__cloud_below \'profile\'' -a import -d 'Import profiles of other tools'
complete -c cloud -n '__cloud_below \'profile\'' -a '(__cloud_aliases list ls \'List the profiles\' get show \'Show a profile\' create add \'Create a profile\' delete rm \'Delete profiles; keys and the cloud stay unchanged\')'
complete -c cloud -n '__cloud_at \'profile get\'' -l explain -d 'Show every effective setting and its source'
complete -c cloud -n '__cloud_argument \'profile get\' 0 0' -a '(__cloud_profiles)'
complete -c cloud -n '__cloud_at \'profile create\'' -l stor-key-id -x -d 'Different key for the object storage, by fingerprint'
complete -c cloud -n '__cloud_at \'profile create\'' -l allow-http -d 'Allow plain HTTP to other hosts than this machine'
complete -c cloud -n '__cloud_at \'profile create\'' -l stor-ecdsa -d 'The object storage accepts ECDSA keys'
complete -c cloud -n '__cloud_at \'profile create\'' -l sign-window -x -d 'Seconds for which a signature is reused, at most 240'
complete -c cloud -n '__cloud_at \'profile create\'' -l default-output -x -a 'table json jsonl yaml csv tsv name' -d 'Output format of lists and records without -o, -j or --jq'
complete -c cloud -n '__cloud_at \'profile create\'' -l default-columns -x -d 'Columns of tables, CSV and TSV by command: images list=name,os;jobs list=id,name'
complete -c cloud -n '__cloud_at \'profile create\'' -l default-parallel -x -d 'Number of concurrent transfers without -P'
complete -c cloud -n '__cloud_at \'profile create\'' -l no-test -d 'Do not test the profile'
complete -c cloud -n '__cloud_at \'profile create\'' -l use -d 'Make the profile the current one'
complete -c cloud -n '__cloud_at \'profile create\'' -l force -d 'Replace an existing profile'
complete -c cloud -n '__cloud_at \'profile edit\'' -l stor-key-id -x -d 'Different key for the object storage, by fingerprint'
complete -c cloud -n '__cloud_at \'profile edit\'' -l allow-http -d 'Allow plain HTTP to other hosts than this machine'
complete -c cloud -n '__cloud_at \'profile edit\'' -l stor-ecdsa -d 'The object storage accepts ECDSA keys'
complete -c cloud -n '__cloud_at \'profile edit\'' -l sign-window -x -d 'Seconds for which a signature is reused, at most 240'
complete -c cloud -n '__cloud_at \'profile edit\'' -l default-output -x -a 'table json jsonl yaml csv tsv name' -d 'Output format of lists and records without -o, -j or --jq'
complete -c cloud -n '__cloud_at \'profile edit\'' -l default-columns -x -d 'Columns of tables, CSV and TSV by command: images list=name,os;jobs list=id,name'
complete -c cloud -n '__cloud_at \'profile edit\'' -l default-parallel -x -d 'Number of concurrent transfers without -P'
complete -c cloud -n '__cloud_at \'profile edit\'' -l unset -x -d 'Settings to remove: role,ca'
complete -c cloud -n '__cloud_argument \'profile edit\' 0 0' -a '(__cloud_profiles)'
complete -c cloud -n '__cloud_argument \'profile use\' 0 0' -a '(__cloud_profiles)'
complete -c cloud -n '__cloud_at \'profile delete\'' -s y -l yes -d 'Do not ask for confirmation'
complete -c cloud -n '__cloud_at \'profile delete\'' -s n -l dry-run -d 'Only show what would be deleted'
complete -c cloud -n '__cloud_argument \'profile delete\' 0 100000' -a '(__cloud_profiles)'
complete -c cloud -n '__cloud_at \'profile import\'' -l force -d 'Replace existing profiles of the same names'
complete -c cloud -n '__cloud_at \'env\'' -l shell -x -a 'sh bash zsh fish' -d 'Shell that reads the output; default sh'
complete -c cloud -n '__cloud_argument \'env\' 0 0' -a '(__cloud_profiles)'
complete -c cloud -n '__cloud_below \'local\'' -a start -d 'Start both services on this machine'
complete -c cloud -n '__cloud_below \'local\'' -a stop -d 'Stop the services; their data stays'
complete -c cloud -n '__cloud_below \'local\'' -a status -d 'Show whether the services run, their addresses, start time and size of data'
complete -c cloud -n '__cloud_below \'local\'' -a run -d 'Run a program with its own services'
complete -c cloud -n '__cloud_below \'local\'' -a serve -d 'Run both services in the foreground'
complete -c cloud -n '__cloud_below \'local\'' -a try -d 'Take a guided tour on temporary services'
complete -c cloud -n '__cloud_below \'local\'' -a logs -d 'Print the log of the services'
complete -c cloud -n '__cloud_below \'local\'' -a seed -d 'Add missing samples, or objects and users from files'
complete -c cloud -n '__cloud_below \'local\'' -a reset -d 'Delete all data of the services'
complete -c cloud -n '__cloud_below \'local\'' -a snapshot -d 'Save and restore the state of the services'
complete -c cloud -n '__cloud_below \'local\'' -a fork -d 'Start another service with the same state on other ports'
complete -c cloud -n '__cloud_below \'local\'' -a clock -d 'Show or set the clock of a running service'
complete -c cloud -n '__cloud_below \'local\'' -a faults -d 'Add and remove faults of a running service'
complete -c cloud -n '__cloud_below \'local\'' -a requests -d 'List the requests to a running service, and why they were rejected'
complete -c cloud -n '__cloud_below \'local\'' -a record -d 'Record the requests of a program and the responses of a cloud'
complete -c cloud -n '__cloud_at \'local start\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_at \'local start\'' -l compute-port -x -d 'Port of the compute service; 0: any free port'
complete -c cloud -n '__cloud_at \'local start\'' -l stor-port -x -d 'Port of the object storage; 0: any free port'
complete -c cloud -n '__cloud_at \'local start\'' -l http -d 'Without TLS'
complete -c cloud -n '__cloud_at \'local start\'' -l host -x -d 'Address to listen on; this machine only by default'
complete -c cloud -n '__cloud_at \'local start\'' -l allow-jobs -d 'Run jobs even if other machines can reach the service'
complete -c cloud -n '__cloud_at \'local start\'' -l isolation -x -a 'bubblewrap namespaces none' -d 'Sandbox for tasks of jobs; by default the strongest that works here, and jobs are rejected if none works'
complete -c cloud -n '__cloud_at \'local start\'' -l job-slots -x -d 'Number of concurrent tasks of jobs; number of cores by default'
complete -c cloud -n '__cloud_at \'local start\'' -l job-time-limit -x -d 'Time limit of a task of a job; 1h by default'
complete -c cloud -n '__cloud_at \'local start\'' -l public-key -r -F -d 'Register this public key instead of a new one'
complete -c cloud -n '__cloud_at \'local start\'' -l empty -d 'Without samples'
complete -c cloud -n '__cloud_at \'local start\'' -l datacenter -x -d 'Name of the datacenter'
complete -c cloud -n '__cloud_at \'local start\'' -l peer -x -d 'Offer the local service with this data as a datacenter to import images from'
complete -c cloud -n '__cloud_at \'local start\'' -l limits -d 'Show provisioning limits'
complete -c cloud -n '__cloud_at \'local start\'' -l limit -x -d 'Set a limit of the services; see cloud help local-service'
complete -c cloud -n '__cloud_at \'local start\'' -l add-account -x -d 'Add an account with a key and a profile'
complete -c cloud -n '__cloud_at \'local start\'' -l attestation-authority -r -F -d 'Trust key attestations issued under this certificate'
complete -c cloud -n '__cloud_at \'local start\'' -l staleness -x -d 'Delay until reads show changes of users, roles and policies'
complete -c cloud -n '__cloud_at \'local start\'' -l throttle -x -d 'Rate limit of the compute service, such as 10/s'
complete -c cloud -n '__cloud_at \'local start\'' -l latency -x -d 'Delay every response'
complete -c cloud -n '__cloud_at \'local start\'' -l fault -x -d 'Add faults, such as createkey=InternalError*2'
complete -c cloud -n '__cloud_at \'local start\'' -l replay -r -F -d 'Replay this recording of cloud local record'
complete -c cloud -n '__cloud_at \'local stop\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_at \'local status\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_at \'local run\'' -l http -d 'Without TLS'
complete -c cloud -n '__cloud_at \'local run\'' -l isolation -x -a 'bubblewrap namespaces none' -d 'Sandbox for tasks of jobs; by default the strongest that works here, and jobs are rejected if none works'
complete -c cloud -n '__cloud_at \'local run\'' -l job-slots -x -d 'Number of concurrent tasks of jobs; number of cores by default'
complete -c cloud -n '__cloud_at \'local run\'' -l job-time-limit -x -d 'Time limit of a task of a job; 1h by default'
complete -c cloud -n '__cloud_at \'local run\'' -l public-key -r -F -d 'Register this public key instead of a new one'
complete -c cloud -n '__cloud_at \'local run\'' -l empty -d 'Without samples'
complete -c cloud -n '__cloud_at \'local run\'' -l datacenter -x -d 'Name of the datacenter'
complete -c cloud -n '__cloud_at \'local run\'' -l peer -x -d 'Offer the local service with this data as a datacenter to import images from'
complete -c cloud -n '__cloud_at \'local run\'' -l limits -d 'Show provisioning limits'
complete -c cloud -n '__cloud_at \'local run\'' -l limit -x -d 'Set a limit of the services; see cloud help local-service'
complete -c cloud -n '__cloud_at \'local run\'' -l add-account -x -d 'Add an account with a key; CLOUD_LOCAL_ACCOUNTS has both'
complete -c cloud -n '__cloud_at \'local run\'' -l attestation-authority -r -F -d 'Trust key attestations issued under this certificate'
complete -c cloud -n '__cloud_at \'local run\'' -l staleness -x -d 'Delay until reads show changes of users, roles and policies'
complete -c cloud -n '__cloud_at \'local run\'' -l throttle -x -d 'Rate limit of the compute service, such as 10/s'
complete -c cloud -n '__cloud_at \'local run\'' -l latency -x -d 'Delay every response'
complete -c cloud -n '__cloud_at \'local run\'' -l fault -x -d 'Add faults, such as createkey=InternalError*2'
complete -c cloud -n '__cloud_at \'local run\'' -l replay -r -F -d 'Replay this recording of cloud local record'
complete -c cloud -n '__cloud_at \'local run\'' -l snapshot -x -a '(__cloud_ask snapshot)' -d 'Start with the state of this snapshot'
complete -c cloud -n '__cloud_at \'local run\'' -l data -x -a '(__fish_complete_directories)' -d 'Start with the state of the services with this data'
complete -c cloud -n '__cloud_at \'local run\'' -l fixtures -r -F -d 'Add objects and users first; see local seed'
complete -c cloud -n '__cloud_at \'local run\'' -l log -r -F -d 'Write the services\' log to this file'
complete -c cloud -n '__cloud_at \'local serve\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_at \'local serve\'' -l compute-port -x -d 'Port of the compute service; 0: any free port'
complete -c cloud -n '__cloud_at \'local serve\'' -l stor-port -x -d 'Port of the object storage; 0: any free port'
complete -c cloud -n '__cloud_at \'local serve\'' -l http -d 'Without TLS'
complete -c cloud -n '__cloud_at \'local serve\'' -l host -x -d 'Address to listen on; this machine only by default'
complete -c cloud -n '__cloud_at \'local serve\'' -l allow-jobs -d 'Run jobs even if other machines can reach the service'
complete -c cloud -n '__cloud_at \'local serve\'' -l isolation -x -a 'bubblewrap namespaces none' -d 'Sandbox for tasks of jobs; by default the strongest that works here, and jobs are rejected if none works'
complete -c cloud -n '__cloud_at \'local serve\'' -l job-slots -x -d 'Number of concurrent tasks of jobs; number of cores by default'
complete -c cloud -n '__cloud_at \'local serve\'' -l job-time-limit -x -d 'Time limit of a task of a job; 1h by default'
complete -c cloud -n '__cloud_at \'local serve\'' -l public-key -r -F -d 'Register this public key instead of a new one'
complete -c cloud -n '__cloud_at \'local serve\'' -l empty -d 'Without samples'
complete -c cloud -n '__cloud_at \'local serve\'' -l datacenter -x -d 'Name of the datacenter'
complete -c cloud -n '__cloud_at \'local serve\'' -l peer -x -d 'Offer the local service with this data as a datacenter to import images from'
complete -c cloud -n '__cloud_at \'local serve\'' -l limits -d 'Show provisioning limits'
complete -c cloud -n '__cloud_at \'local serve\'' -l limit -x -d 'Set a limit of the services; see cloud help local-service'
complete -c cloud -n '__cloud_at \'local serve\'' -l add-account -x -d 'Add an account with a key and a profile'
complete -c cloud -n '__cloud_at \'local serve\'' -l attestation-authority -r -F -d 'Trust key attestations issued under this certificate'
complete -c cloud -n '__cloud_at \'local serve\'' -l staleness -x -d 'Delay until reads show changes of users, roles and policies'
complete -c cloud -n '__cloud_at \'local serve\'' -l throttle -x -d 'Rate limit of the compute service, such as 10/s'
complete -c cloud -n '__cloud_at \'local serve\'' -l latency -x -d 'Delay every response'
complete -c cloud -n '__cloud_at \'local serve\'' -l fault -x -d 'Add faults, such as createkey=InternalError*2'
complete -c cloud -n '__cloud_at \'local serve\'' -l replay -r -F -d 'Replay this recording of cloud local record'
complete -c cloud -n '__cloud_at \'local logs\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_at \'local seed\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_argument \'local seed\' 0 0' -F
complete -c cloud -n '__cloud_at \'local reset\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_at \'local reset\'' -s y -l yes -d 'Do not ask'
complete -c cloud -n '__cloud_below \'local snapshot\'' -a create -d 'Save the state of the services under a name'
complete -c cloud -n '__cloud_below \'local snapshot\'' -a list -d 'List the snapshots, the oldest first'
complete -c cloud -n '__cloud_below \'local snapshot\'' -a restore -d 'Restore the services from a snapshot'
complete -c cloud -n '__cloud_below \'local snapshot\'' -a delete -d 'Delete a snapshot'
complete -c cloud -n '__cloud_at \'local snapshot create\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_at \'local snapshot list\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_at \'local snapshot restore\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_argument \'local snapshot restore\' 0 0' -a '(__cloud_ask snapshot)'
complete -c cloud -n '__cloud_at \'local snapshot delete\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_argument \'local snapshot delete\' 0 0' -a '(__cloud_ask snapshot)'
complete -c cloud -n '__cloud_at \'local fork\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_at \'local fork\'' -l compute-port -x -d 'Port of the compute service; 0: any free port'
complete -c cloud -n '__cloud_at \'local fork\'' -l stor-port -x -d 'Port of the object storage; 0: any free port'
complete -c cloud -n '__cloud_at \'local fork\'' -l http -d 'Without TLS'
complete -c cloud -n '__cloud_at \'local fork\'' -l host -x -d 'Address to listen on; this machine only by default'
complete -c cloud -n '__cloud_at \'local fork\'' -l allow-jobs -d 'Run jobs even if other machines can reach the service'
complete -c cloud -n '__cloud_at \'local fork\'' -l isolation -x -a 'bubblewrap namespaces none' -d 'Sandbox for tasks of jobs; by default the strongest that works here, and jobs are rejected if none works'
complete -c cloud -n '__cloud_at \'local fork\'' -l job-slots -x -d 'Number of concurrent tasks of jobs; number of cores by default'
complete -c cloud -n '__cloud_at \'local fork\'' -l job-time-limit -x -d 'Time limit of a task of a job; 1h by default'
complete -c cloud -n '__cloud_at \'local fork\'' -l public-key -r -F -d 'Register this public key instead of a new one'
complete -c cloud -n '__cloud_at \'local fork\'' -l empty -d 'Without samples'
complete -c cloud -n '__cloud_at \'local fork\'' -l datacenter -x -d 'Name of the datacenter'
complete -c cloud -n '__cloud_at \'local fork\'' -l peer -x -d 'Offer the local service with this data as a datacenter to import images from'
complete -c cloud -n '__cloud_at \'local fork\'' -l limits -d 'Show provisioning limits'
complete -c cloud -n '__cloud_at \'local fork\'' -l limit -x -d 'Set a limit of the services; see cloud help local-service'
complete -c cloud -n '__cloud_at \'local fork\'' -l add-account -x -d 'Add an account with a key and a profile'
complete -c cloud -n '__cloud_at \'local fork\'' -l attestation-authority -r -F -d 'Trust key attestations issued under this certificate'
complete -c cloud -n '__cloud_at \'local fork\'' -l staleness -x -d 'Delay until reads show changes of users, roles and policies'
complete -c cloud -n '__cloud_at \'local fork\'' -l throttle -x -d 'Rate limit of the compute service, such as 10/s'
complete -c cloud -n '__cloud_at \'local fork\'' -l latency -x -d 'Delay every response'
complete -c cloud -n '__cloud_at \'local fork\'' -l fault -x -d 'Add faults, such as createkey=InternalError*2'
complete -c cloud -n '__cloud_at \'local fork\'' -l snapshot -x -a '(__cloud_ask snapshot)' -d 'Fork this snapshot instead of the current state'
complete -c cloud -n '__cloud_at \'local fork\'' -l to -x -a '(__fish_complete_directories)' -d 'Folder for its data; a new one by default'
complete -c cloud -n '__cloud_at \'local clock\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_at \'local clock\'' -l behind -d 'With skew: put the service behind, not ahead'
complete -c cloud -n '__cloud_argument \'local clock\' 0 0' -a 'set advance skew reset'
complete -c cloud -n '__cloud_below \'local faults\'' -a list -d 'List the faults of a running service, with how often they occurred'
complete -c cloud -n '__cloud_below \'local faults\'' -a add -d 'Add a fault to a running service'
complete -c cloud -n '__cloud_below \'local faults\'' -a clear -d 'Remove faults; requests that they stall continue'
complete -c cloud -n '__cloud_at \'local faults list\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_at \'local faults add\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_at \'local faults add\'' -l path -x -d 'Only for requests whose path matches; * matches any characters'
complete -c cloud -n '__cloud_at \'local faults add\'' -l from-account -x -d 'Only for requests of this account and its users'
complete -c cloud -n '__cloud_at \'local faults add\'' -l count -x -d 'Number of failures; unlimited by default'
complete -c cloud -n '__cloud_at \'local faults add\'' -l rate -x -d 'Fraction of requests that fail: 0.1 for one in ten'
complete -c cloud -n '__cloud_at \'local faults add\'' -l seed -x -d 'With the same seed, --rate selects the same requests; shown when absent'
complete -c cloud -n '__cloud_argument \'local faults add\' 0 0' -a '(__cloud_ask action)'
complete -c cloud -n '__cloud_argument \'local faults add\' 1 1' -a '(__cloud_ask failure)'
complete -c cloud -n '__cloud_at \'local faults clear\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_at \'local requests\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of the services\' data; by default $CLOUD_LOCAL_DATA, else the data folder of cloud'
complete -c cloud -n '__cloud_at \'local requests\'' -l failed -d 'Show only requests that failed'
complete -c cloud -n '__cloud_at \'local requests\'' -s f -l follow -d 'Keep showing new requests until Ctrl-C'
complete -c cloud -n '__cloud_at \'local record\'' -l body-limit -x -d 'Omit response bodies above this size; 64M by default'
complete -c cloud -n '__cloud_argument \'local record\' 0 0' -F
complete -c cloud -n '__cloud_below \'server\'' -a gateway -d 'Serve both services from PostgreSQL and a folder or bucket, in the foreground'
complete -c cloud -n '__cloud_below \'server\'' -a worker -d 'Run tasks of jobs for the gateways of a database, in the foreground'
complete -c cloud -n '__cloud_below \'server\'' -a migrate -d 'Create or update the tables of a database'
complete -c cloud -n '__cloud_below \'server\'' -a collect -d 'Remove unreferenced contents, or check that all others exist'
complete -c cloud -n '__cloud_below \'server\'' -a status -d 'Show the gateways, workers, tables, garbage and jobs of a database'
complete -c cloud -n '__cloud_below \'server\'' -a audit -d 'List changes of keys, users, roles, policies, role tags and accounts'
complete -c cloud -n '__cloud_below \'server\'' -a apply -d 'Apply a document to the cloud'
complete -c cloud -n '__cloud_below \'server\'' -a diff -d 'Show the changes that applying a document would make'
complete -c cloud -n '__cloud_below \'server\'' -a import -d 'Import the accounts of a local service into the cluster'
complete -c cloud -n '__cloud_below \'server\'' -a accounts -d 'Manage accounts of the services'
complete -c cloud -n '__cloud_below \'server\'' -a '(__cloud_aliases accounts account \'Manage accounts of the services\')'
complete -c cloud -n '__cloud_at \'server gateway\'' -l database -x -d 'PostgreSQL database, without a password; CLOUD_SERVER_DATABASE by default'
complete -c cloud -n '__cloud_at \'server gateway\'' -l database-file -r -F -d 'Read the URL of the database, which may contain a password, from this file'
complete -c cloud -n '__cloud_at \'server gateway\'' -l bytes -x -d 'Store of object contents: file:///DIR, or s3://BUCKET?endpoint=URL, with &region=NAME if the store has regions; CLOUD_SERVER_BYTES by default'
complete -c cloud -n '__cloud_at \'server gateway\'' -l bytes-credentials -r -F -d 'Read the key pair of s3:// from this file in the format of AWS tools; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY by default'
complete -c cloud -n '__cloud_at \'server gateway\'' -l compute-port -x -d 'Port of the compute service; 0: any free port'
complete -c cloud -n '__cloud_at \'server gateway\'' -l stor-port -x -d 'Port of the object storage; 0: any free port'
complete -c cloud -n '__cloud_at \'server gateway\'' -l host -x -d 'Address to listen on; this machine by default'
complete -c cloud -n '__cloud_at \'server gateway\'' -l tls-cert -r -F -d 'Certificate chain in PEM format'
complete -c cloud -n '__cloud_at \'server gateway\'' -l tls-key -r -F -d 'Key of the certificate, in PEM format'
complete -c cloud -n '__cloud_at \'server gateway\'' -l tls-dir -x -a '(__fish_complete_directories)' -d 'Folder for a certificate, created if missing'
complete -c cloud -n '__cloud_at \'server gateway\'' -l http -d 'Without TLS'
complete -c cloud -n '__cloud_at \'server gateway\'' -l admin-port -x -d 'Port of /--live, /--ready and /--metrics'
complete -c cloud -n '__cloud_at \'server gateway\'' -l admin-host -x -d 'Admin address; this machine by default'
complete -c cloud -n '__cloud_at \'server gateway\'' -l public-url -x -d 'URL of the compute service for clients'
complete -c cloud -n '__cloud_at \'server gateway\'' -l stor-public-url -x -d 'URL of the object storage for clients'
complete -c cloud -n '__cloud_at \'server gateway\'' -l proxy-protocol-from -x -d 'Addresses of load balancers, comma-separated'
complete -c cloud -n '__cloud_at \'server gateway\'' -l drain-wait -x -d 'Delay stop on SIGTERM; 5s with an admin port'
complete -c cloud -n '__cloud_at \'server gateway\'' -l drain-timeout -x -d 'Time to finish requests then; 30s by default'
complete -c cloud -n '__cloud_at \'server gateway\'' -l datacenter -x -d 'Name of the datacenter'
complete -c cloud -n '__cloud_at \'server gateway\'' -l limit -x -d 'Set a limit of the services; see cloud help local-service'
complete -c cloud -n '__cloud_at \'server gateway\'' -l allow-jobs -d 'Run jobs even if other machines can reach the service'
complete -c cloud -n '__cloud_at \'server gateway\'' -l work-dir -x -a '(__fish_complete_directories)' -d 'Folder in which tasks of jobs run; by default that of the contents, or a temporary one if they are in a bucket'
complete -c cloud -n '__cloud_at \'server gateway\'' -l no-jobs -d 'Leave tasks of jobs to workers'
complete -c cloud -n '__cloud_at \'server gateway\'' -l isolation -x -a 'bubblewrap namespaces none' -d 'Sandbox for tasks of jobs; by default the strongest that works here'
complete -c cloud -n '__cloud_at \'server gateway\'' -l job-slots -x -d 'Number of concurrent tasks of jobs; number of cores by default'
complete -c cloud -n '__cloud_at \'server gateway\'' -l job-time-limit -x -d 'Time limit of a task; 1h by default'
complete -c cloud -n '__cloud_at \'server gateway\'' -l keep-garbage -x -d 'Keep replaced and deleted contents this long'
complete -c cloud -n '__cloud_at \'server gateway\'' -l no-collect -d 'Leave removal to other gateways'
complete -c cloud -n '__cloud_at \'server worker\'' -l database -x -d 'PostgreSQL database, without a password; CLOUD_SERVER_DATABASE by default'
complete -c cloud -n '__cloud_at \'server worker\'' -l database-file -r -F -d 'Read the URL of the database, which may contain a password, from this file'
complete -c cloud -n '__cloud_at \'server worker\'' -l bytes -x -d 'Store of object contents: file:///DIR, or s3://BUCKET?endpoint=URL, with &region=NAME if the store has regions; CLOUD_SERVER_BYTES by default'
complete -c cloud -n '__cloud_at \'server worker\'' -l bytes-credentials -r -F -d 'Read the key pair of s3:// from this file in the format of AWS tools; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY by default'
complete -c cloud -n '__cloud_at \'server worker\'' -l work-dir -x -a '(__fish_complete_directories)' -d 'Folder in which tasks run; by default that of the contents'
complete -c cloud -n '__cloud_at \'server worker\'' -l slots -x -d 'Number of concurrent tasks; number of cores by default'
complete -c cloud -n '__cloud_at \'server worker\'' -l account-tasks -x -d 'Limit of concurrent tasks of an account, counted over all workers and gateways; unlimited by default'
complete -c cloud -n '__cloud_at \'server worker\'' -l limit -x -d 'Set account-bytes or account-objects, with the same value as gateways'
complete -c cloud -n '__cloud_at \'server worker\'' -l isolation -x -a 'bubblewrap namespaces none' -d 'Sandbox for tasks; by default the strongest that works here'
complete -c cloud -n '__cloud_at \'server worker\'' -l require-isolation -d 'Refuse to start without a sandbox'
complete -c cloud -n '__cloud_at \'server worker\'' -l time-limit -x -d 'Time limit of a task; 1h by default'
complete -c cloud -n '__cloud_at \'server worker\'' -l admin-port -x -d 'Port of /--live, /--ready and /--metrics'
complete -c cloud -n '__cloud_at \'server worker\'' -l admin-host -x -d 'Admin address; this machine by default'
complete -c cloud -n '__cloud_at \'server worker\'' -l drain-timeout -x -d 'Time to finish running tasks at the end; 30s by default'
complete -c cloud -n '__cloud_at \'server worker\'' -l stor-public-url -x -d 'URL of the object storage for tasks; that of the gateways by default'
complete -c cloud -n '__cloud_at \'server migrate\'' -l database -x -d 'PostgreSQL database, without a password; CLOUD_SERVER_DATABASE by default'
complete -c cloud -n '__cloud_at \'server migrate\'' -l database-file -r -F -d 'Read the URL of the database, which may contain a password, from this file'
complete -c cloud -n '__cloud_at \'server collect\'' -l database -x -d 'PostgreSQL database, without a password; CLOUD_SERVER_DATABASE by default'
complete -c cloud -n '__cloud_at \'server collect\'' -l database-file -r -F -d 'Read the URL of the database, which may contain a password, from this file'
complete -c cloud -n '__cloud_at \'server collect\'' -l bytes -x -d 'Store of object contents: file:///DIR, or s3://BUCKET?endpoint=URL, with &region=NAME if the store has regions; CLOUD_SERVER_BYTES by default'
complete -c cloud -n '__cloud_at \'server collect\'' -l bytes-credentials -r -F -d 'Read the key pair of s3:// from this file in the format of AWS tools; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY by default'
complete -c cloud -n '__cloud_at \'server collect\'' -l keep-garbage -x -d 'Keep overwritten and deleted contents for this time, or for that of the gateways if it is longer'
complete -c cloud -n '__cloud_at \'server collect\'' -l take-over -d 'Confirm that no other database uses these contents, after a restore for example'
complete -c cloud -n '__cloud_at \'server collect\'' -s n -l dry-run -d 'Only list what would be removed'
complete -c cloud -n '__cloud_at \'server collect\'' -l verify -d 'Check that the contents of all objects exist'
complete -c cloud -n '__cloud_at \'server collect\'' -l checksum -d 'With --verify: read all contents and compare their MD5'
complete -c cloud -n '__cloud_at \'server status\'' -l database -x -d 'PostgreSQL database, without a password; CLOUD_SERVER_DATABASE by default'
complete -c cloud -n '__cloud_at \'server status\'' -l database-file -r -F -d 'Read the URL of the database, which may contain a password, from this file'
complete -c cloud -n '__cloud_at \'server status\'' -s w -l watch -d 'Keep watching until Ctrl-C'
complete -c cloud -n '__cloud_at \'server status\'' -l watch-interval -x -d 'With --watch: time between updates; 2s by default'
complete -c cloud -n '__cloud_at \'server audit\'' -l database -x -d 'PostgreSQL database, without a password; CLOUD_SERVER_DATABASE by default'
complete -c cloud -n '__cloud_at \'server audit\'' -l database-file -r -F -d 'Read the URL of the database, which may contain a password, from this file'
complete -c cloud -n '__cloud_at \'server audit\'' -l account -x -d 'Only changes of this account'
complete -c cloud -n '__cloud_at \'server audit\'' -l since -x -d 'Only changes since this time: a date, or a duration before now'
complete -c cloud -n '__cloud_at \'server audit\'' -s f -l follow -d 'Keep showing new changes until Ctrl-C'
complete -c cloud -n '__cloud_at \'server apply\'' -l database -x -d 'PostgreSQL database, without a password; CLOUD_SERVER_DATABASE by default'
complete -c cloud -n '__cloud_at \'server apply\'' -l database-file -r -F -d 'Read the URL of the database, which may contain a password, from this file'
complete -c cloud -n '__cloud_at \'server apply\'' -l bytes -x -d 'Store of object contents: file:///DIR, or s3://BUCKET?endpoint=URL, with &region=NAME if the store has regions; CLOUD_SERVER_BYTES by default'
complete -c cloud -n '__cloud_at \'server apply\'' -l bytes-credentials -r -F -d 'Read the key pair of s3:// from this file in the format of AWS tools; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY by default'
complete -c cloud -n '__cloud_at \'server apply\'' -l prune -d 'Also delete entries that are not in the document'
complete -c cloud -n '__cloud_at \'server apply\'' -s n -l dry-run -d 'Only show the changes, and check where files would be stored'
complete -c cloud -n '__cloud_at \'server apply\'' -s y -l yes -d 'Do not ask before deleting'
complete -c cloud -n '__cloud_argument \'server apply\' 0 0' -F
complete -c cloud -n '__cloud_at \'server diff\'' -l database -x -d 'PostgreSQL database, without a password; CLOUD_SERVER_DATABASE by default'
complete -c cloud -n '__cloud_at \'server diff\'' -l database-file -r -F -d 'Read the URL of the database, which may contain a password, from this file'
complete -c cloud -n '__cloud_at \'server diff\'' -l prune -d 'Also delete entries that are not in the document'
complete -c cloud -n '__cloud_at \'server diff\'' -l exit-code -d 'Exit with 1 if there are changes'
complete -c cloud -n '__cloud_argument \'server diff\' 0 0' -F
complete -c cloud -n '__cloud_at \'server import\'' -l database -x -d 'PostgreSQL database, without a password; CLOUD_SERVER_DATABASE by default'
complete -c cloud -n '__cloud_at \'server import\'' -l database-file -r -F -d 'Read the URL of the database, which may contain a password, from this file'
complete -c cloud -n '__cloud_at \'server import\'' -l bytes -x -d 'Store of object contents: file:///DIR, or s3://BUCKET?endpoint=URL, with &region=NAME if the store has regions; CLOUD_SERVER_BYTES by default'
complete -c cloud -n '__cloud_at \'server import\'' -l bytes-credentials -r -F -d 'Read the key pair of s3:// from this file in the format of AWS tools; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY by default'
complete -c cloud -n '__cloud_at \'server import\'' -l from -x -a '(__fish_complete_directories)' -d 'Data directory of the local service'
complete -c cloud -n '__cloud_below \'server accounts\'' -a list -d 'List the accounts'
complete -c cloud -n '__cloud_below \'server accounts\'' -a create -d 'Create an account with its first key'
complete -c cloud -n '__cloud_below \'server accounts\'' -a limit -d 'Set or show the limits of an account'
complete -c cloud -n '__cloud_below \'server accounts\'' -a disable -d 'Disable an account and keep its data'
complete -c cloud -n '__cloud_below \'server accounts\'' -a enable -d 'Enable a disabled account'
complete -c cloud -n '__cloud_below \'server accounts\'' -a delete -d 'Delete a disabled account with everything in it'
complete -c cloud -n '__cloud_below \'server accounts\'' -a '(__cloud_aliases list ls \'List the accounts\' delete rm \'Delete a disabled account with everything in it\')'
complete -c cloud -n '__cloud_at \'server accounts list\'' -l database -x -d 'PostgreSQL database, without a password; CLOUD_SERVER_DATABASE by default'
complete -c cloud -n '__cloud_at \'server accounts list\'' -l database-file -r -F -d 'Read the URL of the database, which may contain a password, from this file'
complete -c cloud -n '__cloud_at \'server accounts create\'' -l database -x -d 'PostgreSQL database, without a password; CLOUD_SERVER_DATABASE by default'
complete -c cloud -n '__cloud_at \'server accounts create\'' -l database-file -r -F -d 'Read the URL of the database, which may contain a password, from this file'
complete -c cloud -n '__cloud_at \'server accounts create\'' -l email -x -d 'E-mail address of the account'
complete -c cloud -n '__cloud_at \'server accounts create\'' -l public-key -r -F -d 'First public key, in OpenSSH format'
complete -c cloud -n '__cloud_at \'server accounts limit\'' -l database -x -d 'PostgreSQL database, without a password; CLOUD_SERVER_DATABASE by default'
complete -c cloud -n '__cloud_at \'server accounts limit\'' -l database-file -r -F -d 'Read the URL of the database, which may contain a password, from this file'
complete -c cloud -n '__cloud_at \'server accounts limit\'' -l bytes -x -d 'Limit of bytes, such as 10GiB, or none'
complete -c cloud -n '__cloud_at \'server accounts limit\'' -l objects -x -d 'Limit of objects, or none'
complete -c cloud -n '__cloud_at \'server accounts limit\'' -l requests -x -d 'Limit of requests per second, or none'
complete -c cloud -n '__cloud_at \'server accounts disable\'' -l database -x -d 'PostgreSQL database, without a password; CLOUD_SERVER_DATABASE by default'
complete -c cloud -n '__cloud_at \'server accounts disable\'' -l database-file -r -F -d 'Read the URL of the database, which may contain a password, from this file'
complete -c cloud -n '__cloud_at \'server accounts enable\'' -l database -x -d 'PostgreSQL database, without a password; CLOUD_SERVER_DATABASE by default'
complete -c cloud -n '__cloud_at \'server accounts enable\'' -l database-file -r -F -d 'Read the URL of the database, which may contain a password, from this file'
complete -c cloud -n '__cloud_at \'server accounts delete\'' -l database -x -d 'PostgreSQL database, without a password; CLOUD_SERVER_DATABASE by default'
complete -c cloud -n '__cloud_at \'server accounts delete\'' -l database-file -r -F -d 'Read the URL of the database, which may contain a password, from this file'
complete -c cloud -n '__cloud_at \'server accounts delete\'' -s y -l yes -d 'Do not ask'
complete -c cloud -n '__cloud_at \'conformance\'' -l area -x -a 'storage jobs compute' -d 'Check only this part of the specification'
complete -c cloud -n '__cloud_at \'conformance\'' -l check -x -d 'Run only the check with this id, such as storage/put-object'
complete -c cloud -n '__cloud_at \'conformance\'' -l read-only -d 'Run only checks that change nothing'
complete -c cloud -n '__cloud_at \'conformance\'' -l machine -x -d 'Create images of this instance, which must be prepared and stopped'
complete -c cloud -n '__cloud_at \'conformance\'' -l import-image -x -d 'Import this image of another datacenter'
complete -c cloud -n '__cloud_at \'doctor\'' -l clear-cache -d 'Delete the cache first: compiled code, TLS sessions and cached responses'
complete -c cloud -n '__cloud_below \'alias\'' -a list -d 'List aliases'
complete -c cloud -n '__cloud_below \'alias\'' -a set -d 'Set an alias for a command line'
complete -c cloud -n '__cloud_below \'alias\'' -a delete -d 'Delete aliases'
complete -c cloud -n '__cloud_below \'alias\'' -a '(__cloud_aliases list ls \'List aliases\' set create \'Set an alias for a command line\' set add \'Set an alias for a command line\' delete rm \'Delete aliases\')'
complete -c cloud -n '__cloud_argument \'alias delete\' 0 100000' -a '(__cloud_ask_aliases)'
complete -c cloud -n '__cloud_below \'completion\'' -a bash -d 'Print or install the completion script for bash'
complete -c cloud -n '__cloud_below \'completion\'' -a zsh -d 'Print or install the completion script for zsh'
complete -c cloud -n '__cloud_below \'completion\'' -a fish -d 'Print or install the completion script for fish'
complete -c cloud -n '__cloud_at \'completion bash\'' -l install -d 'Install the script for this user instead of printing it'
complete -c cloud -n '__cloud_at \'completion bash\'' -l uninstall -d 'Remove everything that --install added'
complete -c cloud -n '__cloud_at \'completion zsh\'' -l install -d 'Install the script for this user instead of printing it'
complete -c cloud -n '__cloud_at \'completion zsh\'' -l uninstall -d 'Remove everything that --install added'
complete -c cloud -n '__cloud_at \'completion fish\'' -l install -d 'Install the script for this user instead of printing it'
complete -c cloud -n '__cloud_at \'completion fish\'' -l uninstall -d 'Remove everything that --install added'
complete -c cloud -n '__cloud_below \'help\'' -a account -d 'The account: address, limits and settings'
complete -c cloud -n '__cloud_below \'help\'' -a keys -d 'SSH keys of the account, which sign requests'
complete -c cloud -n '__cloud_below \'help\'' -a users -d 'Sub-users of the account'
complete -c cloud -n '__cloud_below \'help\'' -a roles -d 'Roles: which members have which policies'
complete -c cloud -n '__cloud_below \'help\'' -a policies -d 'Policies: rules for what the members of a role may do'
complete -c cloud -n '__cloud_below \'help\'' -a rbac -d 'Access control of the account as one document'
complete -c cloud -n '__cloud_below \'help\'' -a images -d 'Images: templates of instances'
complete -c cloud -n '__cloud_below \'help\'' -a packages -d 'Packages: sizes of instances'
complete -c cloud -n '__cloud_below \'help\'' -a datacenters -d 'Datacenters of the cloud'
complete -c cloud -n '__cloud_below \'help\'' -a services -d 'Services of the cloud and their addresses'
complete -c cloud -n '__cloud_below \'help\'' -a stor -d 'Directories and objects of the object storage'
complete -c cloud -n '__cloud_below \'help\'' -a mpu -d 'Multipart uploads: large objects in parts'
complete -c cloud -n '__cloud_below \'help\'' -a jobs -d 'Compute jobs: shell commands that run on stored objects'
complete -c cloud -n '__cloud_below \'help\'' -a resume -d 'Interrupted work: list, continue or clean up'
complete -c cloud -n '__cloud_below \'help\'' -a ping -d 'Check that both services respond, with version, clock and latency'
complete -c cloud -n '__cloud_below \'help\'' -a api -d 'Send any request, signed'
complete -c cloud -n '__cloud_below \'help\'' -a url -d 'Signed URLs: what they grant, until when, and why one fails'
complete -c cloud -n '__cloud_below \'help\'' -a profile -d 'Profiles: which cloud, which account, which key'
complete -c cloud -n '__cloud_below \'help\'' -a env -d 'Print a profile as shell exports'
complete -c cloud -n '__cloud_below \'help\'' -a local -d 'Run both services on this machine, for trials and tests'
complete -c cloud -n '__cloud_below \'help\'' -a server -d 'Run the services on PostgreSQL, for a team'
complete -c cloud -n '__cloud_below \'help\'' -a conformance -d 'Check whether a cloud conforms to the specification'
complete -c cloud -n '__cloud_below \'help\'' -a doctor -d 'Check program, machine, profile, keys, agent, TLS, clock and both services'
complete -c cloud -n '__cloud_below \'help\'' -a version -d 'Show version, commit, Node.js, system and install path'
complete -c cloud -n '__cloud_below \'help\'' -a alias -d 'Aliases: your own names for command lines'
complete -c cloud -n '__cloud_below \'help\'' -a completion -d 'Completion for bash, zsh and fish'
complete -c cloud -n '__cloud_below \'help\'' -a help -d 'Help for a command: cloud help images list'
complete -c cloud -n '__cloud_below \'help\'' -a signing -d 'how requests are signed, and with which keys'
complete -c cloud -n '__cloud_below \'help\'' -a policy-language -d 'permissions: sub-users, roles, policies, rules and role tags'
complete -c cloud -n '__cloud_below \'help\'' -a scripting -d 'what scripts can rely on'
complete -c cloud -n '__cloud_below \'help\'' -a job-tools -d 'programs for tasks: several outputs, named outputs, reducers, sums'
complete -c cloud -n '__cloud_below \'help\'' -a local-service -d 'both services on this machine, for trials and tests'
complete -c cloud -n '__cloud_below \'help\'' -a testing -d 'test suites with separate services, injected failures and a clock'
complete -c cloud -n '__cloud_below \'help\'' -a cluster -d 'the services on PostgreSQL behind a load balancer, for a team'
complete -c cloud -n '__cloud_below \'help\'' -a exit-codes -d 'The meaning of exit codes'
complete -c cloud -n '__cloud_below \'help\'' -a files -d 'Where configuration, state and data are stored'
complete -c cloud -n '__cloud_below \'help\'' -a options -d 'The options of every command'
complete -c cloud -n '__cloud_below \'help\'' -a transfer -d 'Transfer options'
complete -c cloud -n '__cloud_below \'help\'' -a compare -d 'Comparison options'
complete -c cloud -n '__cloud_below \'help\'' -a filters -d 'Filter options'
complete -c cloud -n '__cloud_below \'help\'' -a names -d 'Name options'
complete -c cloud -n '__cloud_below \'help\'' -a engines -d 'Options of database and contents'
complete -c cloud -n '__cloud_below \'help\'' -a tasks -d 'Options of tasks of jobs'
complete -c cloud -n '__cloud_below \'help\'' -a '(__cloud_aliases account accounts \'The account: address, limits and settings\' keys key \'SSH keys of the account, which sign requests\' users user \'Sub-users of the account\' roles role \'Roles: which members have which policies\' policies policy \'Policies: rules for what the members of a role may do\' images image \'Images: templates of instances\' packages package \'Packages: sizes of instances\' datacenters datacenter \'Datacenters of the cloud\' services service \'Services of the cloud and their addresses\' stor storage \'Directories and objects of the object storage\' mpu uploads \'Multipart uploads: large objects in parts\' jobs job \'Compute jobs: shell commands that run on stored objects\' profile profiles \'Profiles: which cloud, which account, which key\' alias aliases \'Aliases: your own names for command lines\')'
