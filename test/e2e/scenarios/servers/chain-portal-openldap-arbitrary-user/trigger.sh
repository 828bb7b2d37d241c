. "$(dirname "$0")/../../lib.sh"
said "Can't contact LDAP server"; again openldap; sleep 6
