# Completion of cloud for fish. Install: cloud completion fish | source

# Goes to the command that a word names.
function __cloud_enter
    switch "$__cloud_place/$argv[1]"
        case '/account' '/accounts'
            set __cloud_place 'account'
        case '/keys' '/key'
            set __cloud_place 'keys'
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
        case '/ping'
            set __cloud_place 'ping'
        case '/api'
            set __cloud_place 'api'
        case '/profile' '/profiles'
            set __cloud_place 'profile'
        case '/env'
            set __cloud_place 'env'
        case '/local'
            set __cloud_place 'local'
        case '/completion'
            set __cloud_place 'completion'
        case '/help'
            set __cloud_place ''
        case 'account/get' 'account/show'
            set __cloud_place 'account get'
        case 'account/update'
            set __cloud_place 'account update'
        case 'account/limits' 'account/ls'
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
        case 'keys/local'
            set __cloud_place 'keys local'
        case 'images/list' 'images/ls'
            set __cloud_place 'images list'
        case 'images/get' 'images/show'
            set __cloud_place 'images get'
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
        case 'api/call'
            set __cloud_place 'api call'
        case 'api/*'
            set __cloud_place 'api call'
            return 1
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
        case 'local/start'
            set __cloud_place 'local start'
        case 'local/stop'
            set __cloud_place 'local stop'
        case 'local/status'
            set __cloud_place 'local status'
        case 'local/serve'
            set __cloud_place 'local serve'
        case 'local/try'
            set __cloud_place 'local try'
        case 'local/logs'
            set __cloud_place 'local logs'
        case 'local/reset'
            set __cloud_place 'local reset'
        case 'completion/bash'
            set __cloud_place 'completion bash'
        case 'completion/zsh'
            set __cloud_place 'completion zsh'
        case 'completion/fish'
            set __cloud_place 'completion fish'
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
        case 'account config set/--default-network'
            return 0
        case 'keys create/--name'
            return 0
        case 'keys create/--attestation'
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
        case 'stor put/--max-size'
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
        case 'profile create/--stor-key-id'
            return 0
        case 'profile create/--sign-window'
            return 0
        case 'profile edit/--stor-key-id'
            return 0
        case 'profile edit/--sign-window'
            return 0
        case 'profile edit/--unset'
            return 0
        case 'local start/--data'
            return 0
        case 'local start/--compute-port'
            return 0
        case 'local start/--stor-port'
            return 0
        case 'local start/--host'
            return 0
        case 'local start/--public-key'
            return 0
        case 'local start/--datacenter'
            return 0
        case 'local stop/--data'
            return 0
        case 'local status/--data'
            return 0
        case 'local serve/--data'
            return 0
        case 'local serve/--compute-port'
            return 0
        case 'local serve/--stor-port'
            return 0
        case 'local serve/--host'
            return 0
        case 'local serve/--public-key'
            return 0
        case 'local serve/--datacenter'
            return 0
        case 'local logs/--data'
            return 0
        case 'local reset/--data'
            return 0
        case '*/-o' '*/--output' '*/--columns' '*/--sort' '*/--color' '*/--profile' '*/--account' '*/--user' '*/--role' '*/--key-id' '*/--key-file' '*/--url' '*/--stor-url' '*/--api-version' '*/--ca' '*/--timeout' '*/--max-time' '*/--retries'
            return 0
        case '*'
            return 1
    end
    return 0
end

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

function __cloud_profiles
    set -l config $HOME/.config
    string match -q '/*' -- "$XDG_CONFIG_HOME"; and set config $XDG_CONFIG_HOME
    for file in $config/cloud/profiles/*.json
        string replace -r '.*/(.*)\.json$' '$1' -- $file
    end
end

complete -c cloud -e
complete -c cloud -f
complete -c cloud -s o -l output -x -a 'table json jsonl yaml csv tsv name' -d 'Form of the output'
complete -c cloud -s j -l json -d 'Same as --output json'
complete -c cloud -l columns -x -d 'Fields to show: a,b,c or all'
complete -c cloud -l sort -x -d 'Fields to sort by: a,-b'
complete -c cloud -s H -l no-header -d 'Leave out the header line'
complete -c cloud -s l -l long -d 'More columns, times and sizes in full'
complete -c cloud -l color -x -a 'auto always never' -d 'When to colour'
complete -c cloud -s q -l quiet -d 'Only errors on stderr'
complete -c cloud -s v -l verbose -d 'Show each request and reply; twice: with headers and bodies'
complete -c cloud -l curl -d 'Print the first request as a curl command instead of sending it'
complete -c cloud -l profile -x -a '(__cloud_profiles)' -d 'Profile to use instead of the current one'
complete -c cloud -l account -x -d 'Act on this account; requests are signed by the account of the profile'
complete -c cloud -l user -x -d 'Sign as this sub-user of the account'
complete -c cloud -l role -x -d 'Take on these roles instead of the default ones'
complete -c cloud -l key-id -x -d 'Key to sign with, by its MD5 or SHA256 fingerprint'
complete -c cloud -l key-file -r -F -d 'Private key to sign with'
complete -c cloud -l url -x -d 'Address of the compute service'
complete -c cloud -l stor-url -x -d 'Address of the object storage'
complete -c cloud -l api-version -x -d 'API versions to accept from the compute service'
complete -c cloud -l ca -r -F -d 'Trust the authorities in this PEM file'
complete -c cloud -l insecure -d 'Accept any TLS certificate (not safe)'
complete -c cloud -l timeout -x -d 'Longest time without anything from the service'
complete -c cloud -l max-time -x -d 'Longest time of a whole request'
complete -c cloud -l retries -x -d 'Tries after a failed one'
complete -c cloud -s h -l help -d 'Show help'
complete -c cloud -n '__cloud_below \'\'' -a account -d 'The account: address, limits and settings'
complete -c cloud -n '__cloud_below \'\'' -a keys -d 'SSH keys of the account, which sign requests'
complete -c cloud -n '__cloud_below \'\'' -a images -d 'Images that instances are made from'
complete -c cloud -n '__cloud_below \'\'' -a packages -d 'Packages: the sizes that instances come in'
complete -c cloud -n '__cloud_below \'\'' -a datacenters -d 'Datacenters of the cloud'
complete -c cloud -n '__cloud_below \'\'' -a services -d 'Services of the cloud and their addresses'
complete -c cloud -n '__cloud_below \'\'' -a stor -d 'Directories and objects of the object storage'
complete -c cloud -n '__cloud_below \'\'' -a ping -d 'Whether both services answer, their versions, clock and speed'
complete -c cloud -n '__cloud_below \'\'' -a api -d 'Send any request, signed'
complete -c cloud -n '__cloud_below \'\'' -a profile -d 'Profiles: which cloud, which account, which key'
complete -c cloud -n '__cloud_below \'\'' -a env -d 'Print a profile as shell exports'
complete -c cloud -n '__cloud_below \'\'' -a local -d 'Both services on this machine, for trying and testing'
complete -c cloud -n '__cloud_below \'\'' -a completion -d 'Completion for bash, zsh and fish'
complete -c cloud -n '__cloud_below \'\'' -a help -d 'Help of a command: cloud help images list'
complete -c cloud -n '__cloud_below \'\'' -a '(__cloud_aliases account accounts \'The account: address, limits and settings\' keys key \'SSH keys of the account, which sign requests\' images image \'Images that instances are made from\' packages package \'Packages: the sizes that instances come in\' datacenters datacenter \'Datacenters of the cloud\' services service \'Services of the cloud and their addresses\' stor storage \'Directories and objects of the object storage\' profile profiles \'Profiles: which cloud, which account, which key\')'
complete -c cloud -n '__cloud_at \'\'' -l version -d 'Show the version'
complete -c cloud -n '__cloud_below \'account\'' -a get -d 'Show the account'
complete -c cloud -n '__cloud_below \'account\'' -a update -d 'Change fields of the account'
complete -c cloud -n '__cloud_below \'account\'' -a limits -d 'List the provisioning limits'
complete -c cloud -n '__cloud_below \'account\'' -a config -d 'Settings of the account'
complete -c cloud -n '__cloud_below \'account\'' -a '(__cloud_aliases get show \'Show the account\' limits ls \'List the provisioning limits\')'
complete -c cloud -n '__cloud_at \'account update\'' -l email -x -d 'E-mail address; an empty text clears it'
complete -c cloud -n '__cloud_at \'account update\'' -l company-name -x -d 'Company; an empty text clears it'
complete -c cloud -n '__cloud_at \'account update\'' -l first-name -x -d 'First name; an empty text clears it'
complete -c cloud -n '__cloud_at \'account update\'' -l last-name -x -d 'Last name; an empty text clears it'
complete -c cloud -n '__cloud_at \'account update\'' -l address -x -d 'Street address; an empty text clears it'
complete -c cloud -n '__cloud_at \'account update\'' -l postal-code -x -d 'Postal code; an empty text clears it'
complete -c cloud -n '__cloud_at \'account update\'' -l city -x -d 'City; an empty text clears it'
complete -c cloud -n '__cloud_at \'account update\'' -l state -x -d 'State or province; an empty text clears it'
complete -c cloud -n '__cloud_at \'account update\'' -l country -x -d 'Country; an empty text clears it'
complete -c cloud -n '__cloud_at \'account update\'' -l phone -x -d 'Phone number; an empty text clears it'
complete -c cloud -n '__cloud_at \'account update\'' -l cns -d 'Whether the name service is enabled'
complete -c cloud -n '__cloud_at \'account update\'' -l no-cns -d 'Whether the name service is enabled'
complete -c cloud -n '__cloud_below \'account config\'' -a get -d 'Show the settings of the account'
complete -c cloud -n '__cloud_below \'account config\'' -a set -d 'Change the settings of the account'
complete -c cloud -n '__cloud_below \'account config\'' -a '(__cloud_aliases get show \'Show the settings of the account\')'
complete -c cloud -n '__cloud_at \'account config set\'' -l default-network -x -d 'Network for containers'
complete -c cloud -n '__cloud_below \'keys\'' -a list -d 'List the SSH keys of the account'
complete -c cloud -n '__cloud_below \'keys\'' -a get -d 'Show a key'
complete -c cloud -n '__cloud_below \'keys\'' -a create -d 'Register an SSH public key'
complete -c cloud -n '__cloud_below \'keys\'' -a delete -d 'Remove SSH keys from the account'
complete -c cloud -n '__cloud_below \'keys\'' -a local -d 'List the keys of this machine and which of them are registered'
complete -c cloud -n '__cloud_below \'keys\'' -a '(__cloud_aliases list ls \'List the SSH keys of the account\' get show \'Show a key\' create add \'Register an SSH public key\' delete rm \'Remove SSH keys from the account\')'
complete -c cloud -n '__cloud_at \'keys create\'' -l name -x -d 'Name; the fingerprint when absent'
complete -c cloud -n '__cloud_at \'keys create\'' -l attestation -r -F -d 'Attestation certificate, PEM'
complete -c cloud -n '__cloud_argument \'keys create\' 0 0' -F
complete -c cloud -n '__cloud_at \'keys delete\'' -s y -l yes -d 'Do not ask'
complete -c cloud -n '__cloud_below \'images\'' -a list -d 'List images'
complete -c cloud -n '__cloud_below \'images\'' -a get -d 'Show an image'
complete -c cloud -n '__cloud_below \'images\'' -a '(__cloud_aliases list ls \'List images\' get show \'Show an image\')'
complete -c cloud -n '__cloud_at \'images list\'' -l name -x -d 'Only of this name'
complete -c cloud -n '__cloud_at \'images list\'' -l os -x -d 'Only of this operating system'
complete -c cloud -n '__cloud_at \'images list\'' -l version -x -d 'Only of this version'
complete -c cloud -n '__cloud_at \'images list\'' -l public -d 'Only public, or only private images'
complete -c cloud -n '__cloud_at \'images list\'' -l no-public -d 'Only public, or only private images'
complete -c cloud -n '__cloud_at \'images list\'' -l state -x -a 'active unactivated disabled creating failed all' -d 'Only in this state'
complete -c cloud -n '__cloud_at \'images list\'' -l owner -x -d 'Only of this owner'
complete -c cloud -n '__cloud_at \'images list\'' -l type -x -d 'Only of this kind'
complete -c cloud -n '__cloud_below \'packages\'' -a list -d 'List packages'
complete -c cloud -n '__cloud_below \'packages\'' -a get -d 'Show a package'
complete -c cloud -n '__cloud_below \'packages\'' -a '(__cloud_aliases list ls \'List packages\' get show \'Show a package\')'
complete -c cloud -n '__cloud_at \'packages list\'' -l name -x -d 'Only of this name; * stands for anything'
complete -c cloud -n '__cloud_at \'packages list\'' -l version -x -d 'Only of this version; * stands for anything'
complete -c cloud -n '__cloud_at \'packages list\'' -l group -x -d 'Only of this group; * stands for anything'
complete -c cloud -n '__cloud_at \'packages list\'' -l memory -x -d 'Only with this much memory, MiB'
complete -c cloud -n '__cloud_at \'packages list\'' -l disk -x -d 'Only with this much disk, MiB'
complete -c cloud -n '__cloud_at \'packages list\'' -l swap -x -d 'Only with this much swap, MiB'
complete -c cloud -n '__cloud_at \'packages list\'' -l lwps -x -d 'Only with this many light-weight processes'
complete -c cloud -n '__cloud_at \'packages list\'' -l vcpus -x -d 'Only with this many processors'
complete -c cloud -n '__cloud_at \'packages list\'' -l flexible-disk -d 'Only with, or only without a freely divided disk'
complete -c cloud -n '__cloud_at \'packages list\'' -l no-flexible-disk -d 'Only with, or only without a freely divided disk'
complete -c cloud -n '__cloud_at \'packages list\'' -l brand -x -d 'Only for this brand; * stands for anything'
complete -c cloud -n '__cloud_below \'datacenters\'' -a list -d 'List the datacenters and the addresses of their services'
complete -c cloud -n '__cloud_below \'datacenters\'' -a get -d 'Show the address of a datacenter'
complete -c cloud -n '__cloud_below \'datacenters\'' -a '(__cloud_aliases list ls \'List the datacenters and the addresses of their services\' get show \'Show the address of a datacenter\')'
complete -c cloud -n '__cloud_below \'services\'' -a list -d 'List the services and their addresses'
complete -c cloud -n '__cloud_below \'services\'' -a get -d 'Show the address of a service'
complete -c cloud -n '__cloud_below \'services\'' -a '(__cloud_aliases list ls \'List the services and their addresses\' get show \'Show the address of a service\')'
complete -c cloud -n '__cloud_below \'stor\'' -a ls -d 'List directories'
complete -c cloud -n '__cloud_below \'stor\'' -a stat -d 'Show what a path names, and its headers'
complete -c cloud -n '__cloud_below \'stor\'' -a cat -d 'Write objects to stdout, one after the other'
complete -c cloud -n '__cloud_below \'stor\'' -a get -d 'Read an object to stdout, or objects into files'
complete -c cloud -n '__cloud_below \'stor\'' -a put -d 'Store files as objects'
complete -c cloud -n '__cloud_below \'stor\'' -a mkdir -d 'Make directories'
complete -c cloud -n '__cloud_below \'stor\'' -a rm -d 'Delete objects and empty directories'
complete -c cloud -n '__cloud_below \'stor\'' -a '(__cloud_aliases ls list \'List directories\' stat show \'Show what a path names, and its headers\' rm delete \'Delete objects and empty directories\')'
complete -c cloud -n '__cloud_at \'stor ls\'' -s t -l time -d 'Newest first'
complete -c cloud -n '__cloud_at \'stor ls\'' -s S -l size -d 'Largest first'
complete -c cloud -n '__cloud_at \'stor ls\'' -s r -l reverse -d 'The other way round'
complete -c cloud -n '__cloud_at \'stor get\'' -l no-clobber -d 'Leave files alone that exist'
complete -c cloud -n '__cloud_at \'stor put\'' -s p -l parents -d 'Make missing directories'
complete -c cloud -n '__cloud_at \'stor put\'' -l type -x -d 'Content type; guessed from the name when absent'
complete -c cloud -n '__cloud_at \'stor put\'' -s m -l meta -x -d 'Own header, stored as m-KEY'
complete -c cloud -n '__cloud_at \'stor put\'' -l header -x -d 'Any header that the service stores'
complete -c cloud -n '__cloud_at \'stor put\'' -l copies -x -d 'Number of copies'
complete -c cloud -n '__cloud_at \'stor put\'' -l if-match -x -d 'Only over the object that has this etag'
complete -c cloud -n '__cloud_at \'stor put\'' -l no-clobber -d 'Only when there is no object of this name'
complete -c cloud -n '__cloud_at \'stor put\'' -l max-size -x -d 'Most bytes to take from stdin; 5 GiB when absent'
complete -c cloud -n '__cloud_argument \'stor put\' 0 100000' -F
complete -c cloud -n '__cloud_at \'stor mkdir\'' -s p -l parents -d 'Make the directories above too'
complete -c cloud -n '__cloud_at \'stor rm\'' -s y -l yes -d 'Do not ask'
complete -c cloud -n '__cloud_below \'api\'' -a call -d 'Send any request, signed, and print the reply as it comes'
complete -c cloud -n '__cloud_at \'api\'' -s f -l field -x -d 'A field that is a text; @FILE for the content of a file'
complete -c cloud -n '__cloud_at \'api\'' -s F -l json-field -x -d 'A field that is JSON'
complete -c cloud -n '__cloud_at \'api\'' -l input -r -F -d 'Body from a file; - for stdin'
complete -c cloud -n '__cloud_at \'api\'' -l header -x -d 'A further header'
complete -c cloud -n '__cloud_at \'api\'' -l service -x -a 'compute stor' -d 'Which service'
complete -c cloud -n '__cloud_at \'api\'' -s i -l include -d 'Print the status and headers too'
complete -c cloud -n '__cloud_at \'api call\'' -s f -l field -x -d 'A field that is a text; @FILE for the content of a file'
complete -c cloud -n '__cloud_at \'api call\'' -s F -l json-field -x -d 'A field that is JSON'
complete -c cloud -n '__cloud_at \'api call\'' -l input -r -F -d 'Body from a file; - for stdin'
complete -c cloud -n '__cloud_at \'api call\'' -l header -x -d 'A further header'
complete -c cloud -n '__cloud_at \'api call\'' -l service -x -a 'compute stor' -d 'Which service'
complete -c cloud -n '__cloud_at \'api call\'' -s i -l include -d 'Print the status and headers too'
complete -c cloud -n '__cloud_below \'profile\'' -a list -d 'List the profiles'
complete -c cloud -n '__cloud_below \'profile\'' -a get -d 'Show a profile'
complete -c cloud -n '__cloud_below \'profile\'' -a create -d 'Make a profile'
complete -c cloud -n '__cloud_below \'profile\'' -a edit -d 'Change settings of a profile'
complete -c cloud -n '__cloud_below \'profile\'' -a use -d 'Make a profile the current one'
complete -c cloud -n '__cloud_below \'profile\'' -a delete -d 'Delete profiles; keys and the cloud itself are not touched'
complete -c cloud -n '__cloud_below \'profile\'' -a '(__cloud_aliases list ls \'List the profiles\' get show \'Show a profile\' create add \'Make a profile\' delete rm \'Delete profiles; keys and the cloud itself are not touched\')'
complete -c cloud -n '__cloud_at \'profile get\'' -l explain -d 'Show every setting that is in force, and where it comes from'
complete -c cloud -n '__cloud_argument \'profile get\' 0 0' -a '(__cloud_profiles)'
complete -c cloud -n '__cloud_at \'profile create\'' -l stor-key-id -x -d 'Another key for the object storage, by fingerprint'
complete -c cloud -n '__cloud_at \'profile create\'' -l allow-http -d 'Allow plain HTTP to hosts other than this one'
complete -c cloud -n '__cloud_at \'profile create\'' -l stor-ecdsa -d 'The object storage takes ECDSA keys'
complete -c cloud -n '__cloud_at \'profile create\'' -l sign-window -x -d 'Seconds for which one signature is used, at most 240'
complete -c cloud -n '__cloud_at \'profile create\'' -l no-test -d 'Do not try it'
complete -c cloud -n '__cloud_at \'profile create\'' -l use -d 'Make it the current profile'
complete -c cloud -n '__cloud_at \'profile create\'' -l force -d 'Replace a profile of this name'
complete -c cloud -n '__cloud_at \'profile edit\'' -l stor-key-id -x -d 'Another key for the object storage, by fingerprint'
complete -c cloud -n '__cloud_at \'profile edit\'' -l allow-http -d 'Allow plain HTTP to hosts other than this one'
complete -c cloud -n '__cloud_at \'profile edit\'' -l stor-ecdsa -d 'The object storage takes ECDSA keys'
complete -c cloud -n '__cloud_at \'profile edit\'' -l sign-window -x -d 'Seconds for which one signature is used, at most 240'
complete -c cloud -n '__cloud_at \'profile edit\'' -l unset -x -d 'Settings to remove: role,ca'
complete -c cloud -n '__cloud_argument \'profile edit\' 0 0' -a '(__cloud_profiles)'
complete -c cloud -n '__cloud_argument \'profile use\' 0 0' -a '(__cloud_profiles)'
complete -c cloud -n '__cloud_at \'profile delete\'' -s y -l yes -d 'Do not ask'
complete -c cloud -n '__cloud_argument \'profile delete\' 0 100000' -a '(__cloud_profiles)'
complete -c cloud -n '__cloud_argument \'env\' 0 0' -a '(__cloud_profiles)'
complete -c cloud -n '__cloud_below \'local\'' -a start -d 'Start both services on this machine'
complete -c cloud -n '__cloud_below \'local\'' -a stop -d 'Stop the services; their data stays'
complete -c cloud -n '__cloud_below \'local\'' -a status -d 'Show whether the services run, where, since when and how much they hold'
complete -c cloud -n '__cloud_below \'local\'' -a serve -d 'Run both services in the foreground'
complete -c cloud -n '__cloud_below \'local\'' -a try -d 'A guided tour of everything, on services of its own'
complete -c cloud -n '__cloud_below \'local\'' -a logs -d 'Print what the services logged'
complete -c cloud -n '__cloud_below \'local\'' -a reset -d 'Delete everything that the services hold'
complete -c cloud -n '__cloud_at \'local start\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of its data'
complete -c cloud -n '__cloud_at \'local start\'' -l compute-port -x -d 'Port of the compute service; 0 for any free one'
complete -c cloud -n '__cloud_at \'local start\'' -l stor-port -x -d 'Port of the object storage; 0 for any free one'
complete -c cloud -n '__cloud_at \'local start\'' -l http -d 'Without TLS'
complete -c cloud -n '__cloud_at \'local start\'' -l host -x -d 'Address to listen on; this machine only when absent'
complete -c cloud -n '__cloud_at \'local start\'' -l allow-jobs -d 'Run jobs although others can reach the service'
complete -c cloud -n '__cloud_at \'local start\'' -l public-key -r -F -d 'Register this public key instead of making a key'
complete -c cloud -n '__cloud_at \'local start\'' -l empty -d 'Without samples'
complete -c cloud -n '__cloud_at \'local start\'' -l datacenter -x -d 'Name of the datacenter'
complete -c cloud -n '__cloud_at \'local stop\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of its data'
complete -c cloud -n '__cloud_at \'local status\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of its data'
complete -c cloud -n '__cloud_at \'local serve\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of its data'
complete -c cloud -n '__cloud_at \'local serve\'' -l compute-port -x -d 'Port of the compute service; 0 for any free one'
complete -c cloud -n '__cloud_at \'local serve\'' -l stor-port -x -d 'Port of the object storage; 0 for any free one'
complete -c cloud -n '__cloud_at \'local serve\'' -l http -d 'Without TLS'
complete -c cloud -n '__cloud_at \'local serve\'' -l host -x -d 'Address to listen on; this machine only when absent'
complete -c cloud -n '__cloud_at \'local serve\'' -l allow-jobs -d 'Run jobs although others can reach the service'
complete -c cloud -n '__cloud_at \'local serve\'' -l public-key -r -F -d 'Register this public key instead of making a key'
complete -c cloud -n '__cloud_at \'local serve\'' -l empty -d 'Without samples'
complete -c cloud -n '__cloud_at \'local serve\'' -l datacenter -x -d 'Name of the datacenter'
complete -c cloud -n '__cloud_at \'local logs\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of its data'
complete -c cloud -n '__cloud_at \'local reset\'' -l data -x -a '(__fish_complete_directories)' -d 'Folder of its data'
complete -c cloud -n '__cloud_at \'local reset\'' -s y -l yes -d 'Do not ask'
complete -c cloud -n '__cloud_below \'completion\'' -a bash -d 'Print the completion script for bash'
complete -c cloud -n '__cloud_below \'completion\'' -a zsh -d 'Print the completion script for zsh'
complete -c cloud -n '__cloud_below \'completion\'' -a fish -d 'Print the completion script for fish'
